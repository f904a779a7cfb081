import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

/// Who owns the type of a key column can make casts and CHECKs, whose functions would run with the rights of the daemon.
@Suite("The owner of a key's type", .database, .usualTimeLimit) struct KeyTypeOwnerTests {
    private static let definition = OrderDefinition(
        names: OrderNames(schema: "public", table: "moods"), listColumns: ["mood"], itemColumn: "id")

    private func reasonNotToAttach(_ connection: Connection) async -> String? {
        await refusal { try await Attacher(connection: connection, logger: .silent).plan(Self.definition) }
    }

    /// Whether brocot check and brocot doctor report the table, which is registered as if it were attached.
    private func expectReports(_ text: String, _ owner: Connection) async throws {
        try await owner.execute(
            script: """
                ALTER TABLE public.moods ADD COLUMN rank numeric, ADD COLUMN rank_num bigint, ADD COLUMN rank_den bigint;
                INSERT INTO brocot.ordered_tables VALUES ('public.moods', 'public', 'moods', '{mood}', 'id', false);
                """)
        let repair = TableRepair(connection: owner, logger: .silent)
        let definition = try #require(try await repair.definitions(named: nil).first)
        #expect(try await repair.findings(of: definition).lines().first?.contains(text) == true)
        let faults = try await owner.run { connection throws(PostgresError) in
            try KeyFaults.ofTypes(inOrder: "public.moods", on: connection)
        }
        #expect(faults.first?.contains(text) == true)
        let results = await Doctor(
            parameters: try ConnectionParameters(url: TestDatabase.current.url), role: .daemon,
            oldTransaction: .seconds(900), logger: .silent
        ).examine()
        let failure = results.first { $0.level == .fail && $0.message.contains(text) }
        #expect(failure != nil, "\(results.filter { $0.level != .ok }.map(\.message))")
    }

    @Test(
        "brocot attach refuses a key whose type has a cast by a function",
        arguments: [
            ("public.mood", "text"), ("text", "public.mood"), ("text[]", "public.mood[]"), ("public.mood", "jsonb"),
        ]) func cast(source: String, target: String) async throws
    {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE TYPE public.mood AS ENUM ('good', 'bad');
                CREATE TABLE public.moods (id int PRIMARY KEY, mood public.mood);
                """)
        #expect(await reasonNotToAttach(owner) == nil)
        try await owner.execute(script: "CREATE CAST (varchar AS public.mood) WITH INOUT AS IMPLICIT")
        #expect(await reasonNotToAttach(owner) == nil)
        try await owner.execute(
            script: """
                CREATE FUNCTION public.spy(\(source)) RETURNS \(target) LANGUAGE sql RETURN NULL::\(target);
                CREATE CAST (\(source) AS \(target)) WITH FUNCTION public.spy;
                """)
        #expect(await reasonNotToAttach(owner)?.contains("there is a cast by a function") == true)
        try await expectReports("there is a cast by a function", owner)
    }

    @Test("The type of a key is looked up under the exact name of its column")
    func columnsThatLookAlike() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with(["app", "mallory"], owner: owner) { roles in
            let (app, mallory) = (roles[0].name, roles[1].name)
            try await owner.execute(
                script: """
                    GRANT CREATE ON SCHEMA public TO \(app), \(mallory); GRANT \(app), \(mallory) TO CURRENT_USER;
                    SET ROLE \(mallory); CREATE TYPE public.mood AS ENUM ('good'); RESET ROLE; SET ROLE \(app);
                    CREATE TABLE public.moods (id int PRIMARY KEY, "e\u{301}" text, "\u{e9}" public.mood); RESET ROLE;
                    INSERT INTO brocot.ordered_tables VALUES ('public.moods', 'public', 'moods', '{\u{e9}}', 'id', false);
                    """)
            let faults = try await owner.run { connection throws(PostgresError) in
                try KeyFaults.ofTypes(inOrder: "public.moods", on: connection)
            }
            #expect(faults.first?.contains("which belongs to \(mallory)") == true, "\(faults)")
        }
    }

    @Test(
        "brocot attach refuses a key whose type belongs neither to the table's owner nor to a superuser",
        arguments: [
            "CREATE TYPE public.mood AS ENUM ('good')", "CREATE DOMAIN public.mood AS text",
            "CREATE DOMAIN public.mood_type AS text; CREATE DOMAIN public.mood AS public.mood_type",
        ]) func owner(type: String) async throws
    {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with(["app", "mallory"], owner: owner) { roles in
            let (app, mallory) = (roles[0].name, roles[1].name)
            try await owner.execute(
                script: """
                    GRANT CREATE ON SCHEMA public TO \(app), \(mallory); GRANT \(app), \(mallory) TO CURRENT_USER;
                    SET ROLE \(mallory); \(type); RESET ROLE; SET ROLE \(app);
                    CREATE TABLE public.moods (id int PRIMARY KEY, mood public.mood); RESET ROLE;
                    """)
            let reason = try #require(await reasonNotToAttach(owner))
            #expect(reason.contains("which belongs to \(mallory), and not to the table's owner"), "\(reason)")
            try await expectReports("which belongs to \(mallory)", owner)
        }
    }
}
