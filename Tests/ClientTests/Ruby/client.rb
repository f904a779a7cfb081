# What the scripts share: a connection to the test's database, the pages of docs/, and checks that are counted.
require "active_record"

URL = ENV.fetch("DATABASE_URL")
ActiveRecord::Base.establish_connection(URL)

class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true
end

# A page of docs/, or its section with this title.
def section(page, title = nil)
  text = File.read(File.expand_path("../../../docs/#{page}.md", __dir__))
  title ? text.split("\n## #{title}\n")[1].split("\n## ")[0] : text
end

def execute(statements)
  ActiveRecord::Base.connection.execute(statements)
end

def brocot(*arguments)
  system({ "BROCOT_DATABASE_URL" => URL }, ENV.fetch("BROCOT"), *arguments, exception: true, out: File::NULL)
end

def drain
  brocot("daemon", "--drain")
end

$passed = 0
def check(what, found, expected)
  abort "#{what}: #{found.inspect}, not #{expected.inspect}" unless found == expected
  $passed += 1
end
