import LibPQ
import TestLimit
import TestPostgres
import Testing

/// PostgreSQL 17 and newer can end a session whose transaction lasts too long.
@Suite(
    "transaction_timeout", .database, .usualTimeLimit,
    .enabled("the server is older than PostgreSQL 17") {
        try await ServerBuild.knows(setting: "transaction_timeout")
    })
struct TransactionTimeoutTests {
    /// A time that the commands exceed, and that a short statement does not, also on a busy machine.
    private static let limit = "1s"

    private func execute(_ script: String) async throws {
        try await TestDatabase.current.observer.execute(script: script)
    }

    private func run(_ arguments: String...) async throws -> BrocotProcess {
        try await BrocotProcess.run(
            arguments, environment: ["PGOPTIONS": "-c transaction_timeout=\(Self.limit)"],
            input: String(repeating: "x", count: 10))
    }

    @Test("brocot attach and brocot check --repair last longer than the role's transaction_timeout")
    func attach() async throws {
        try await execute(
            """
            CREATE TABLE public.tasks (id bigint PRIMARY KEY); INSERT INTO public.tasks SELECT generate_series(1, 4);
            CREATE FUNCTION public.slow(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN $1; END $$;
            CREATE FUNCTION public.sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.2); RETURN NEW; END $$;
            """)
        let attach = try await run("attach", "public.tasks", "--item", "id", "--order-by", "public.slow(id)")
        #expect(attach.exitCode == 0, "\(attach.errors)")
        try await execute(
            """
            CREATE TRIGGER sleep BEFORE UPDATE ON public.tasks FOR EACH ROW EXECUTE FUNCTION public.sleep();
            ALTER TABLE public.tasks DROP CONSTRAINT brocot_rank_is_valid;
            SET session_replication_role = replica; UPDATE public.tasks SET rank = 2.50 WHERE id = 3;
            """)
        let repair = try await run("check", "--repair")
        #expect(repair.exitCode == 0, "\(repair.errors)")
    }

    @Test("brocot import and a daemon's batch last longer than the role's transaction_timeout") func items()
        async throws
    {
        try await execute(
            """
            CREATE FUNCTION public.sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.2); RETURN NEW; END $$;
            CREATE TRIGGER sleep BEFORE INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION public.sleep();
            SELECT brocot.move('todo', 'a', last => true);
            """)
        let imported = try await run("import", "groceries")
        #expect(imported.exitCode == 0, "\(imported.errors)")
        let drained = try await run("daemon", "--drain")
        #expect(drained.exitCode == 0, "\(drained.errors)")
        #expect(!drained.errors.contains("transaction timeout"), "\(drained.errors)")
    }
}
