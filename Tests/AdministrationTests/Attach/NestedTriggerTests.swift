import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

/// Statements of users' triggers and foreign keys that Brocot's own statements fire.
@Suite("Users' triggers within moves", .database, .usualTimeLimit) struct NestedTriggerTests {
    enum Way: CaseIterable { case atOnce, pending }

    private func move(_ arguments: String, _ way: Way, on connection: Connection) async throws {
        switch way {
        case .atOnce: try await connection.execute(script: "SELECT brocot.move_now(\(arguments))")
        case .pending: try await connection.execute(script: "SELECT brocot.move(\(arguments))")
        }
        // The requests of triggers too.
        try await connection.execute(script: "SELECT brocot.apply_pending(); SELECT brocot.apply_pending()")
    }

    @Test(
        "Rows that a user's trigger moves along with another row are placed in their new list", arguments: Way.allCases)
    func children(way: Way) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id int, parent int);
            INSERT INTO tasks VALUES (1, 1, NULL), (2, 1, 1), (3, 1, 1), (10, 2, NULL);
            CREATE FUNCTION children() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN UPDATE tasks SET project_id = NEW.project_id WHERE parent = NEW.id; RETURN NULL; END';
            CREATE TRIGGER children AFTER UPDATE OF project_id ON tasks FOR EACH ROW EXECUTE FUNCTION children();
            """)
        try await fixture.attach(orderBy: "id")
        try await move(
            "2, 1, last => true, from_list => 1, ordered_table => 'public.tasks'", way, on: fixture.connection)
        #expect(
            try await fixture.texts("SELECT project_id || '.' || id FROM tasks ORDER BY project_id, rank")
                == ["2.10", "2.1", "2.2", "2.3"])
        #expect(try await fixture.texts("SELECT count(*) FROM brocot.move_log WHERE outcome = 'rejected'") == ["0"])
    }

    @Test(
        "Rows that follow a moved row by ON UPDATE CASCADE are placed in their new list", arguments: Way.allCases,
        [false, true])
    func cascade(way: Way, arriveNow: Bool) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (
                id int PRIMARY KEY, project_id int, parent int, UNIQUE (id, project_id),
                FOREIGN KEY (parent, project_id) REFERENCES tasks (id, project_id) ON UPDATE CASCADE
            );
            INSERT INTO tasks VALUES (1, 1, NULL), (2, 1, 1), (3, 1, 1), (10, 2, NULL);
            """)
        try await fixture.attach(AttachFixture.definition(arriveNow: arriveNow), orderBy: "id")
        try await move(
            "2, 1, last => true, from_list => 1, ordered_table => 'public.tasks'", way, on: fixture.connection)
        #expect(
            try await fixture.texts("SELECT project_id || '.' || id FROM tasks WHERE rank IS NOT NULL ORDER BY rank")
                == ["2.10", "2.1", "2.2", "2.3"])
    }

    @Test("A row that a user's trigger inserts within a move is placed", arguments: Way.allCases)
    func follower(way: Way) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id int);
            INSERT INTO tasks VALUES (1, 1), (2, 2);
            CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO tasks VALUES (NEW.id + 100, 1); RETURN NULL; END';
            CREATE TRIGGER follow AFTER UPDATE OF project_id ON tasks FOR EACH ROW EXECUTE FUNCTION follow();
            """)
        try await fixture.attach(orderBy: "id")
        try await move(
            "2, 1, last => true, from_list => 1, ordered_table => 'public.tasks'", way, on: fixture.connection)
        #expect(
            try await fixture.texts("SELECT project_id || '.' || id FROM tasks WHERE rank IS NOT NULL ORDER BY id")
                == ["2.1", "2.2", "1.101"])
    }

    @Test(
        "Rows whose list a foreign key changes when Brocot deletes a row lose their rank",
        arguments: ["SET NULL", "SET DEFAULT"], Way.allCases)
    func foreignKey(action: String, way: Way) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id int DEFAULT 0 REFERENCES tasks ON DELETE \(action));
            INSERT INTO tasks VALUES (0, NULL), (1, NULL), (10, 1), (100, 10), (101, 10), (102, 0), (103, 0);
            """)
        try await fixture.attach(AttachFixture.definition(ownsRows: true), orderBy: "id")
        let call = way == .atOnce ? "remove_now" : "remove"
        try await fixture.connection.execute(
            script: """
                SELECT brocot.\(call)('1', '10', ordered_table => 'public.tasks');
                SELECT brocot.apply_pending(); SELECT brocot.apply_pending();
                """)
        #expect(try await fixture.texts("SELECT count(*) FROM brocot.move_log WHERE outcome = 'rejected'") == ["0"])
        let placed = try await fixture.texts("SELECT id FROM tasks WHERE rank IS NOT NULL ORDER BY project_id, rank")
        #expect(placed == (action == "SET NULL" ? ["102", "103"] : ["102", "103", "100", "101"]))
    }

    @Test("A trigger that moves an item at once keeps the protection of the outer move's rows") func nestedMove()
        async throws
    {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id int);
            INSERT INTO tasks VALUES (1, 1), (2, 1), (3, 2), (4, 2);
            """)
        try await fixture.attach(orderBy: "id")
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN
                    IF NEW.id = 1 THEN
                        PERFORM brocot.move_now(2, 4, first => true, ordered_table => 'public.tasks');
                        UPDATE tasks SET rank = 77, rank_num = 77, rank_den = 1 WHERE id = 2;
                    END IF;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER also AFTER UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION also();
                SELECT brocot.move_now(1, 1, last => true, ordered_table => 'public.tasks');
                """)
        #expect(
            try await fixture.texts("SELECT project_id || '.' || id FROM tasks ORDER BY project_id, rank")
                == ["1.2", "1.1", "2.4", "2.3"])
        #expect(try await fixture.texts("SELECT rank FROM tasks WHERE id = 2") == ["1"])
    }
}
