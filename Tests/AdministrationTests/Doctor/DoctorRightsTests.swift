import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("Checks of rights by brocot doctor", .timeLimit(.minutes(30))) struct DoctorRightsTests {
    @Test("brocot doctor names rights that a role lacks, and tables whose rows are hidden from the role", .database)
    func rights() async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "doctored_of_\(TestDatabase.current.name)"
        let url = TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@")
        try await owner.execute(
            script: """
                CREATE ROLE \(role) LOGIN;
                CREATE TABLE public.cards (id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric);
                ALTER TABLE public.cards ENABLE ROW LEVEL SECURITY;
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        try await grant(.daemon, to: role)
        try await owner.execute(script: "REVOKE DELETE ON brocot.move_requests FROM \(role)")
        let results = try await examination(url: url)
        try await owner.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        #expect(results.compactMap(\.failureKind).allSatisfy { $0 == .needsRepair })
        // The table was not attached, but registered by hand. So it also lacks the objects that attach creates.
        let failures = results.filter { $0.level == .fail && $0.check != "orders" }
        #expect(failures.map(\.check) == ["privileges", "policies"])
        #expect(failures[0].message == #"a daemon also needs DELETE on "brocot"."move_requests""#)
        #expect(failures[0].advice?.contains("brocot grant daemon \(role).") == true)
        #expect(failures[1].message.hasPrefix("row-level security applies to this role on public.cards"))
    }

    @Test("brocot doctor fails if the role may not read what a check needs, and names the grant", .database)
    func unreadableRegistry() async throws {
        let owner = try await TestDatabase.current.connect()
        let results = try await TestRole.with("illiterate", owner: owner) { role in
            try await grant(.daemon, to: role.name)
            try await owner.execute(script: "REVOKE SELECT ON brocot.ordered_tables FROM \(role.name)")
            return try await examination(url: role.url)
        }
        let refused = results.filter { $0.message.contains("permission denied for table ordered_tables") }
        #expect(refused.map(\.check).contains("privileges") && refused.count > 5, "\(results)")
        for result in refused {
            #expect(result.failureKind == .needsRepair, "\(result)")
            #expect(result.advice?.contains("brocot grant daemon illiterate_of_") == true, "\(result)")
        }
    }

    @Test(
        "brocot doctor fails for a role that may not use the schema of a table, and names the grant", .database,
        arguments: [RoleKind.daemon, .requester, .mover, .reader])
    func schemaWithoutUsage(kind: RoleKind) async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "\(kind.rawValue)_without_usage_of_\(TestDatabase.current.name)"
        try await owner.execute(script: "CREATE ROLE \(role) LOGIN")
        try await grant(kind, to: role)
        let fixture = try await AttachFixture("CREATE SCHEMA crm; CREATE TABLE crm.deals (id bigint PRIMARY KEY)")
        try await fixture.attach(
            OrderDefinition(
                names: OrderNames(schema: "crm", table: "deals"), listColumns: [], itemColumn: "id", ownsRows: false,
                visible: nil, arrive: .last, arriveNow: false))
        let url = TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@")
        let results = try await examination(url: url, role: kind)
        try await grant(kind, to: role)
        let repaired = try await examination(url: url, role: kind)
        try await owner.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        let privileges = try #require(results.first { $0.check == "privileges" })
        #expect(privileges.failureKind == .needsRepair)
        #expect(privileges.message.contains(#"USAGE on "crm""#))
        #expect(privileges.advice?.contains("brocot grant \(kind.rawValue) \(role)") == true)
        #expect(results.first { $0.check == "tables" }?.level == .ok)
        #expect(repaired.allSatisfy { $0.failureKind == nil })
    }

    @Test("brocot doctor names the time-out of a role whose statements are cancelled", .database)
    func shortTimeout() async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "hurried_of_\(TestDatabase.current.name)"
        try await owner.execute(script: "CREATE ROLE \(role) LOGIN")
        try await grant(.daemon, to: role)
        try await owner.execute(script: "ALTER ROLE \(role) SET statement_timeout = '1ms'")
        let url = TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@")
        // A fast server could else read the schema within a millisecond.
        try await owner.execute(script: "BEGIN; LOCK brocot.schema_migrations")
        let schema = try await examination(url: url).first { $0.check == "schema" }
        try await owner.execute(script: "COMMIT; DROP OWNED BY \(role); DROP ROLE \(role)")
        #expect(schema?.advice?.contains("RESET statement_timeout") == true, "\(String(describing: schema))")
    }

    @Test("brocot doctor checks the keys of the other tables if the role has no right to read one", .database)
    func keysOfOtherTables() async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "half_blind_of_\(TestDatabase.current.name)"
        try await owner.execute(script: "CREATE ROLE \(role) LOGIN")
        try await grant(.daemon, to: role)
        try await owner.execute(
            script: """
                CREATE SCHEMA closed;
                CREATE TABLE closed.cards (id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric);
                CREATE TABLE public.cards (id bigint, board char(3), rank_num bigint, rank_den bigint, rank numeric);
                INSERT INTO brocot.ordered_tables VALUES
                    ('closed.cards', 'closed', 'cards', '{board}', 'id', false), ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        let keys = try await examination(url: TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@"))
            .first { $0.check == "keys" }
        try await owner.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        #expect(keys?.level == .fail, "\(keys?.message ?? "")")
        #expect(keys?.message.contains("public.cards") == true, "\(keys?.message ?? "")")
        #expect(keys?.message.contains("closed.cards could not be checked") == true, "\(keys?.message ?? "")")
    }

    @Test("brocot doctor names rights that roles lack on a table that was registered after their grant", .database)
    func grants() async throws {
        let owner = try await TestDatabase.current.connect()
        let names = [RoleKind.daemon, .requester, .mover, .reader].map {
            ($0, "\($0.rawValue) o'f \(TestDatabase.current.name)")
        }
        for (kind, name) in names {
            try await owner.execute("CREATE ROLE \(identifier: name)")
            try await grant(kind, to: name)
        }
        try await owner.execute(
            script: """
                CREATE TABLE public.cards (id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric);
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        let results = try await examination()
        for (kind, name) in names { try await grant(kind, to: name) }
        let repaired = try await examination().first { $0.check == "grants" }
        for (_, name) in names { try await owner.execute("DROP OWNED BY \(identifier: name)") }
        for (_, name) in names { try await owner.execute("DROP ROLE \(identifier: name)") }
        let grants = try #require(results.first { $0.check == "grants" })
        #expect(grants.level == .warn)
        #expect(grants.message.contains(#"daemon \#(names[0].1) lacks SELECT (board) on "public"."cards""#))
        for (kind, name) in names {
            #expect(grants.message.contains("\(kind.rawValue) \(name) lacks "))
            #expect(
                grants.advice?.contains("brocot grant \(kind.rawValue) '\(name.replacing("'", with: #"'\''"#))'")
                    == true)
        }
        #expect(repaired?.level == .ok)
    }

    @Test(
        "brocot doctor names missing rights of a role that got INSERT by hand, and the command to grant them",
        .database, arguments: ["INSERT", "INSERT (items, placement)"])
    func grantedByHand(insert: String) async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "by_hand_of_\(TestDatabase.current.name)"
        try await owner.execute(
            script: """
                CREATE ROLE \(role);
                GRANT USAGE ON SCHEMA brocot TO \(role);
                GRANT \(insert) ON brocot.move_requests TO \(role);
                """)
        let results = try await examination()
        try await grant(.requester, to: role)
        let repaired = try await examination().first { $0.check == "grants" }
        try await owner.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        #expect(results.allSatisfy { $0.failureKind == nil })
        let grants = try #require(results.first { $0.check == "grants" })
        #expect(grants.level == .warn)
        #expect(grants.message.hasPrefix("requester \(role) lacks "))
        #expect(grants.message.hasSuffix(" more)"))
        #expect(grants.details?.contains(#"requester \#(role): SELECT on "brocot"."sleepers""#) == true)
        #expect(grants.advice?.contains("brocot grant requester \(role)") == true)
        #expect(repaired?.level == .ok)
    }

    private func grant(_ kind: RoleKind, to name: String) async throws {
        let missing = try await TestDatabase.current.observer.run { connection throws in
            try AccessGrants.grant(kind, to: [name], on: connection)
        }
        #expect(missing == [])
    }
}
