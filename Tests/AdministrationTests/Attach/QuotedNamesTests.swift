import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Sessions with quote_all_identifiers", .database, .usualTimeLimit) struct QuotedNamesTests {
    private static let tasks = """
        CREATE TYPE state AS ENUM ('open', 'done');
        CREATE TABLE tasks (id varchar(20) PRIMARY KEY, project_id state, title text);
        INSERT INTO tasks VALUES ('a', 'open', 'a'), ('b', 'open', 'b');
        """

    @Test("A session with quote_all_identifiers attaches and checks tables as usual") func attaches() async throws {
        let fixture = try await AttachFixture("\(Self.tasks) SET quote_all_identifiers = on;")
        let definition = AttachFixture.definition(visible: "(title IS NOT NULL)")
        try await fixture.attach(definition)
        #expect(try await fixture.attach(definition) == 0)
        try await fixture.connection.execute(script: "RESET quote_all_identifiers")
        #expect(try await fixture.attach(definition) == 0)
        try await fixture.connection.execute(script: "INSERT INTO tasks VALUES ('c', 'open', 'c')")
        #expect(try await fixture.requests() == ["public.tasks open {c} arrive"])
    }

    @Test(
        "Rows that a session with quote_all_identifiers inserts are placed at once, or get a request for a place",
        arguments: [false, true])
    func inserts(arriveNow: Bool) async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach(AttachFixture.definition(arriveNow: arriveNow))
        try await fixture.connection.execute(script: "SET quote_all_identifiers = on")
        try await fixture.connection.execute(script: "INSERT INTO tasks VALUES ('c', 'open', 'c')")
        #expect(try await fixture.requests() == (arriveNow ? [] : ["public.tasks open {c} arrive"]))
        #expect(try await fixture.texts("SELECT id FROM tasks WHERE rank IS NULL") == (arriveNow ? [] : ["c"]))
    }
}
