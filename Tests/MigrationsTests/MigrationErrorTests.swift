import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

/// The place that an error in a migration names.
@Suite("Errors of migrations", .database(migrated: false), .usualTimeLimit) struct MigrationErrorTests {
    @Test("An error shows the place of a syntax error in a later statement") func showsASyntaxErrorInALaterStatement()
        async throws
    {
        let message = try await errorMessage("-- 👍🏽\nSELECT 1;\n\nSELECT 'é' FROM\n\tnowhere, where;\n")
        #expect(
            message.hasPrefix(
                """
                dir/1_step.sql:5:11: error: syntax error at or near "where"
                 5 | \tnowhere, where;
                   | \t         ^
                SQLSTATE: 42601
                """))
        #expect(message.hasSuffix("This migration changed nothing; earlier migrations stay applied."))
    }

    @Test("An error shows the statement if the server gives no position")
    func showsTheStatementWhereTheServerGivesNoPosition() async throws {
        let message = try await errorMessage("CREATE TABLE brocot.a ();\n\n  -- again\n  CREATE TABLE brocot.a ();\n")
        #expect(message.hasPrefix("dir/1_step.sql:4:3: error: relation \"a\" already exists\n 4 |   CREATE TABLE"))
    }

    @Test("An error shows the place of a missing column") func showsTheColumnThatIsMissing() async throws {
        let message = try await errorMessage("SELECT 1;\nSELECT missing\nFROM pg_class;\n")
        #expect(message.hasPrefix("dir/1_step.sql:2:8: error: column \"missing\" does not exist"))
    }

    @Test("An error shows the line of a DO block that raises") func showsTheLineOfADoBlockThatRaises() async throws {
        let message = try await errorMessage(
            """
            SELECT 1;
            DO $$
            BEGIN
                PERFORM 1;
                RAISE EXCEPTION 'no';
            END
            $$;
            """)
        #expect(message.hasPrefix("dir/1_step.sql:5:5: error: no\n 5 |     RAISE EXCEPTION 'no';\n   |     ^"))
    }

    @Test("An error shows the place of a wrong statement in a DO block") func showsTheWordOfAStatementInADoBlock()
        async throws
    {
        let message = try await errorMessage(
            """
            DO LANGUAGE plpgsql $do$ DECLARE found integer;
            BEGIN
                PERFORM missing FROM pg_class;
                SELECT 1 FROM nowhere;
            END $do$;
            """)
        // The server sees SELECT instead of the file's PERFORM.
        #expect(message.hasPrefix("dir/1_step.sql:3:5: error: column \"missing\" does not exist"))
        let other = try await errorMessage(
            "DO $do$ BEGIN\n    PERFORM 1;\n    INSERT INTO\n        nowhere VALUES (1); END $do$;")
        #expect(other.hasPrefix("dir/1_step.sql:4:9: error: relation \"nowhere\" does not exist"))
    }

    @Test("An error shows the place of a syntax error inside a DO block") func showsASyntaxErrorInsideADoBlock()
        async throws
    {
        let message = try await errorMessage("DO $$\nBEGIN\n    IF true THEM\n    END IF;\nEND $$;")
        #expect(message.hasPrefix("dir/1_step.sql:4:11: error: missing \"THEN\""), "\(message)")
    }

    @Test("An error shows the place of a syntax error inside a function") func showsASyntaxErrorInsideAFunction()
        async throws
    {
        let message = try await errorMessage(
            "CREATE FUNCTION brocot.f() RETURNS int LANGUAGE sql AS $$\n    SELECT 1 +;\n$$;")
        #expect(message.hasPrefix("dir/1_step.sql:2:15: error: syntax error"), "\(message)")
    }

    @Test("An error shows the place of the call of a function that fails") func showsTheCallOfAFunctionThatFails()
        async throws
    {
        let message = try await errorMessage(
            """
            CREATE FUNCTION brocot.f() RETURNS int LANGUAGE plpgsql AS $$
            BEGIN
                RETURN 1 / 0;
            END $$;
            DO $$ BEGIN
                PERFORM brocot.f();
            END $$;
            """)
        #expect(message.hasPrefix("dir/1_step.sql:6:5: error: division by zero"), "\(message)")
        #expect(message.contains("brocot.f() line 3"))
    }

    @Test("An error explains that a command can't run inside the migration's transaction")
    func explainsACommandThatNeedsItsOwnTransaction() async throws {
        let message = try await errorMessage(
            "CREATE TABLE brocot.a (b int);\nCREATE INDEX CONCURRENTLY i ON brocot.a (b);")
        #expect(message.hasPrefix("dir/1_step.sql:2:1: error: CREATE INDEX CONCURRENTLY cannot run inside"))
        #expect(message.contains("Each migration runs in one transaction, where this command can't."))
    }

    @Test("An error shows where a comment without an end begins") func showsACommentWithoutAnEnd() async throws {
        let message = try await errorMessage(
            "CREATE TABLE brocot.a ();\n /* off: SELECT /* old hint */ 1;\nCREATE TABLE brocot.b ();\n")
        #expect(message.hasPrefix("dir/1_step.sql:2:2: error: unterminated /* comment"), "\(message)")
    }

    @Test("An error that comes with COMMIT names the file") func namesTheFileOfAnErrorOfCommit() async throws {
        let message = try await errorMessage(
            """
            CREATE TABLE brocot.a (b int PRIMARY KEY, c int REFERENCES brocot.a DEFERRABLE INITIALLY DEFERRED);
            INSERT INTO brocot.a VALUES (1, 2);
            """)
        #expect(
            message.hasPrefix(
                """
                dir/1_step.sql: error: insert or update on table "a" violates foreign key constraint "a_c_fkey"
                All statements of the file ran, and then the server refused to record or to commit the migration.
                SQLSTATE: 23503
                """), "\(message)")
        #expect(message.hasSuffix("This migration changed nothing; earlier migrations stay applied."))
    }

    @Test("An error of the history names the file") func namesTheFileOfAnErrorOfTheHistory() async throws {
        try await TestRole.with("no_owner", owner: TestDatabase.current.observer) { role in
            let message = try await errorMessage("SET LOCAL ROLE \(role.name)")
            #expect(message.hasPrefix("dir/1_step.sql: error: permission denied for schema brocot\nAll "), "\(message)")
        }
    }

    @Test("If the connection is lost during COMMIT, the error says what to do") func lostDuringCommit() async throws {
        let message = try await errorMessage(
            """
            CREATE TABLE brocot.a ();
            CREATE FUNCTION brocot.f() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_terminate_backend(pg_backend_pid());
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER t AFTER INSERT ON brocot.a DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION brocot.f();
            INSERT INTO brocot.a DEFAULT VALUES;
            """)
        #expect(message.hasPrefix("dir/1_step.sql: error: the connection was lost during COMMIT"), "\(message)")
        #expect(message.hasSuffix("\nRun the command again: it applies only what is missing."), "\(message)")
    }

    @Test("An error repeats only a part of a long statement") func cutsALongStatement() async throws {
        let long = String(repeating: "x", count: 100_000)
        for text in [
            "SELECT '\(long)', missing, '\(long)'", "SELECT '\(long)'::int",
            "DO $$ BEGIN PERFORM '\(long)', missing, '\(long)'; END $$",
            "DO $$ BEGIN RAISE USING MESSAGE = '\(long)'; END $$",
        ] {
            let message = try await errorMessage(text)
            #expect(message.utf8.count < 6000 && message.contains("…"), "\(message.prefix(9000))")
        }
        let place = try await errorMessage("SELECT '\(long)', missing, '\(long)'")
        #expect(place.contains("x', missing, 'x"), "\(place)")
    }

    private func errorMessage(_ text: String) async throws -> String {
        let migrator = Migrator(connection: try await TestDatabase.current.connect(), set: try migrations(text))
        return try #require(await refusal { try await migrator.up() }, "the migration was applied")
    }
}
