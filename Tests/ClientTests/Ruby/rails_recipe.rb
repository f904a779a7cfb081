# The recipe for Rails in docs/recipes.md, and the fixtures of docs/testing.md, run from their pages on ActiveRecord.
# Prints how many checks passed.
require_relative "client"
require "active_record/fixtures"
require "tmpdir"

class Project < ApplicationRecord; end

execute(<<~SQL)
  CREATE TABLE projects (id bigserial PRIMARY KEY);
  INSERT INTO projects VALUES (7), (8);
  CREATE TABLE tasks (
      id bigserial PRIMARY KEY, project_id bigint NOT NULL REFERENCES projects, title text NOT NULL, created_at timestamp(6));
SQL
brocot("attach", "public.tasks", "--item", "id", "--list", "project_id")
eval(section("recipes", "Rails")[/^```ruby\n(.*?)^```$/m, 1])

def titles(project)
  Task.where(project_id: project).in_order.pluck(:title).join
end

%w[a b c].each { |title| Task.create!(project_id: 7, title: title) }
drain
check("create!", titles(7), "abc")
Task.find_by!(title: "c").move(:first, true)
drain
check("move", titles(7), "cab")

# Whole records that were read before.
copied = Task.find_by!(title: "c").dup
copied.update!(title: "d")
drain
check("dup", titles(7), "cabd")
saved = Task.find_by!(title: "a").attributes
Task.find_by!(title: "a").destroy
Task.new(saved).save!
drain
check("a record that is written again", titles(7), "cbda")
tasks = Task.where(project_id: 7).in_order.to_a
eval(section("recipes", "Rails")[/`(Task\.upsert_all\(.*?\}\))`/, 1])
Task.insert_all(tasks.map { |task| task.attributes.except("id", "rank").merge("project_id" => 8) })
drain
check("upsert_all and insert_all of records that were read", [titles(7), titles(8)], %w[cbda cbda])

# Fixtures, for which Rails switches the triggers off.
Dir.mktmpdir do |folder|
  File.write("#{folder}/tasks.yml", <<~YAML)
    eggs: { id: 2, project_id: 7, title: e }
    milk: { id: 1, project_id: 7, title: m }
    bread: { id: 3, project_id: 8, title: b }
  YAML
  ActiveRecord::FixtureSet.create_fixtures(folder, ["tasks"])
end
drain
check("the places of fixtures", Task.pluck(:rank), [nil, nil, nil])
eval(section("testing", "Rails")[/^setup do\n(.*?)^end$/m, 1])
check("the places that the tests' setup gives", [titles(7), titles(8), Task.where(rank: nil).count], ["me", "b", 0])

puts "#{$passed} passed"
