# The guide docs/from-acts-as-list.md, run from its page: the application's code before and after, on ActiveRecord.
# Prints how many checks passed.
require_relative "client"
require "acts_as_list"
require "shellwords"

class TodoList < ApplicationRecord
  has_many :todo_items
end

def blocks(language)
  section("from-acts-as-list").scan(/^```#{language}\n(.*?)^```$/m).flatten
end

# The class as the guide has it, in place of the one before.
def define_item(code)
  Object.send(:remove_const, :TodoItem) if Object.const_defined?(:TodoItem)
  TodoList.reset_column_information
  Object.class_eval(code[/^class TodoItem.*?^end$/m])
  TodoItem.reset_column_information
  TodoList.has_many :todo_items
end

def item(title)
  TodoItem.find_by!(title: title)
end

# The first letters of a list's titles, in order.
def shown(list, column)
  TodoList.find(list).todo_items.order(column).map { |row| row.title[0] }.join
end

tables, rows = blocks("sql").first(2)
before, after = blocks("ruby").first(2)
execute(tables)
execute(rows)

# Before: what acts_as_list does with these rows.
define_item(before)
item("Clean").insert_at(2)
check("insert_at", item("Clean").position, 2)
item("Tell the post office").move_to_top
check("move_to_top", shown(1, :position)[0], "T")

# Attach, with the rows as the guide has them.
execute("TRUNCATE todo_items, todo_lists RESTART IDENTITY")
execute(rows)
attach = blocks("sh").first.lines.map(&:strip).find { |line| line.start_with?("brocot attach") }
brocot(*Shellwords.split(attach).drop(1))
check("the order that was there", shown(1, :rank), "PBTC")

# After: each row of the guide's table.
define_item(after)
item("Clean").move(at: 1)
drain
check("move(at:)", shown(1, :rank), "PCBT")
item("Tell the post office").move(first: true)
item("Pack books").move(last: true)
drain
check("move(first:) and move(last:)", shown(1, :rank), "TCBP")
item("Book a van").move(before: item("Clean"))
item("Tell the post office").move(after: item("Clean"))
drain
check("move(before:) and move(after:)", shown(1, :rank), "BCTP")
TodoItem.create!(todo_list: TodoList.find(1), title: "Hand over the keys")
item("Book a van").update(todo_list: TodoList.find(2))
drain
check("create! and update(todo_list:)", [shown(1, :rank), shown(2, :rank)], %w[CTPH PB])
stale = item("Clean")
item("Hand over the keys").move(first: true)
drain
stale.update!(title: "Clean everything")
check("a stale row that is saved", shown(1, :rank), "HCTP")
item("Tell the post office").destroy
check("destroy", shown(1, :rank), "HCP")
check(
  "the position of an item",
  TodoList.find(1).todo_items.where("rank < ?", item("Pack books").rank).count, 2)
execute("ALTER TABLE todo_items DROP COLUMN position")

# Several rows with one statement, as docs/recipes.md says.
TodoItem.reset_column_information
def row(title, list)
  { title: title, todo_list_id: list, created_at: Time.now, updated_at: Time.now }
end

inserted = TodoItem.insert_all(
  [row("Number the boxes", 1), row("Dig", 2), row("Ask friends", 1), row("Mow", 2), row("Measure doors", 1)])
drain
check("the ids that insert_all returns", inserted.length, 5)
check("insert_all", [shown(1, :rank), shown(2, :rank)], %w[HCPNAM PBDM])
TodoItem.upsert_all(
  [row("Ask parents", 1).merge(id: item("Ask friends").id), row("Say goodbye", 1).merge(id: TodoItem.maximum(:id) + 1)])
drain
check("upsert_all", TodoList.find(1).todo_items.order(:rank).pluck(:title).last(4),
  ["Number the boxes", "Ask parents", "Measure doors", "Say goodbye"])

# Rows that were read before, as the guide says.
ActiveRecord::Base.connection.reset_pk_sequence!("todo_items")
copied = item("Ask parents").dup
copied.save!
drain
check("dup", copied.reload.rank, TodoList.find(1).todo_items.maximum(:rank))
saved = item("Mow").attributes
item("Mow").destroy
TodoItem.new(saved).save!
drain
check("a row that is written again", shown(2, :rank), "PBDM")
rows = TodoList.find(1).todo_items.order(:rank).to_a
without_ranks = eval(section("from-acts-as-list")[/`(rows\.map \{.*?\})`/, 1])
TodoItem.upsert_all(without_ranks)
TodoItem.insert_all(without_ranks.map { |row| row.except("id").merge("todo_list_id" => 2) })
drain
check("upsert_all and insert_all of rows that were read", shown(2, :rank), "PBDM" + shown(1, :rank))

puts "#{$passed} passed"
