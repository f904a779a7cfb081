import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Checks of rights by brocot doctor", .usualTimeLimit) struct DoctorRightsTests {
    @Test("brocot doctor names rights that a role lacks, and tables whose rows are hidden from the role", .database)
    func rights() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                \(RegisteredTable.script(columns: "id bigint, board bigint", item: "id"))
                ALTER TABLE public.cards ENABLE ROW LEVEL SECURITY
                """)
        let results = try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await owner.execute(script: "REVOKE DELETE ON brocot.move_requests FROM \(roles[0].name)")
            return try await examination(url: roles[0].url)
        }
        #expect(results.compactMap(\.failureKind).allSatisfy { $0 == .needsRepair })
        // The table was not attached, but registered by hand. So it also lacks the objects that attach creates.
        let failures = results.filter { $0.level == .fail && $0.check != "orders" }
        #expect(failures.map(\.check) == ["privileges", "policies"])
        #expect(failures[0].message == #"a daemon also needs DELETE on "brocot"."move_requests""#)
        #expect(failures[0].advice?.contains("brocot grant daemon daemon_of_") == true)
        #expect(failures[1].message.hasPrefix("row-level security applies to this role on public.cards"))
    }

    @Test("brocot doctor fails if the role may not read what a check needs, and names the grant", .database)
    func unreadableRegistry() async throws {
        let owner = try await TestDatabase.current.connect()
        let results = try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await owner.execute(script: "REVOKE SELECT ON brocot.ordered_tables FROM \(roles[0].name)")
            return try await examination(url: roles[0].url)
        }
        let refused = results.filter { $0.message.contains("permission denied for table ordered_tables") }
        #expect(refused.map(\.check).contains("privileges") && refused.count > 5, "\(results)")
        for result in refused {
            #expect(result.failureKind == .needsRepair, "\(result)")
            #expect(result.advice?.contains("brocot grant daemon daemon_of_") == true, "\(result)")
        }
    }

    @Test(
        "brocot doctor fails for a role that may not use the schema of a table, and names the grant", .database,
        arguments: [RoleKind.daemon, .requester, .mover, .reader])
    func schemaWithoutUsage(kind: RoleKind) async throws {
        let owner = try await TestDatabase.current.connect()
        let (results, repaired) = try await GrantedRole.with(kind, owner: owner) { roles in
            let fixture = try await AttachFixture("CREATE SCHEMA crm; CREATE TABLE crm.deals (id bigint PRIMARY KEY)")
            try await fixture.attach(
                OrderDefinition(
                    names: OrderNames(schema: "crm", table: "deals"), listColumns: [], itemColumn: "id"))
            let results = try await examination(url: roles[0].url, role: kind)
            try await GrantedRole.grant(kind, to: roles[0], by: owner)
            return (results, try await examination(url: roles[0].url, role: kind))
        }
        let privileges = try #require(results.first { $0.check == "privileges" })
        #expect(privileges.failureKind == .needsRepair)
        #expect(privileges.message.contains(#"USAGE on "crm""#))
        #expect(privileges.advice?.contains("brocot grant \(kind.rawValue) \(kind.rawValue)_of_") == true)
        #expect(results.first { $0.check == "tables" }?.level == .ok)
        #expect(repaired.allSatisfy { $0.failureKind == nil })
    }

    @Test("brocot doctor names the time-out of a role whose statements are cancelled", .database)
    func shortTimeout() async throws {
        let owner = try await TestDatabase.current.connect()
        let schema = try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await owner.execute(script: "ALTER ROLE \(roles[0].name) SET statement_timeout = '1ms'")
            // Otherwise a fast server could read the schema within a millisecond.
            try await owner.execute(script: "BEGIN; LOCK brocot.schema_migrations")
            return try await examination(url: roles[0].url).first { $0.check == "schema" }
        }
        #expect(schema?.advice?.contains("RESET statement_timeout") == true, "\(String(describing: schema))")
    }

    @Test(
        "brocot doctor names the role whose rights count, and the time-out of the role that logged in", .database)
    func roleOfSession() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with(["login", "service"], owner: owner) { roles in
            let (login, service) = (roles[0], roles[1])
            try await GrantedRole.grant(.daemon, to: service, by: owner)
            try await owner.execute(
                script: """
                    GRANT \(service.name) TO \(login.name); REVOKE SELECT ON brocot.ordered_tables FROM \(service.name);
                    ALTER ROLE \(login.name) SET role = '\(service.name)'; ALTER ROLE \(login.name) SET idle_session_timeout = '60s';
                    """)
            let results = try await examination(url: login.url)
            let refused = try #require(results.first { $0.check == "tables" })
            #expect(refused.advice?.contains("brocot grant daemon \(service.name)") == true, "\(refused)")
            let timeOuts = try #require(results.first { $0.check == "time-outs" })
            #expect(timeOuts.advice?.contains("ALTER ROLE \"\(login.name)\"") == true, "\(timeOuts)")
        }
    }

    @Test("A daemon whose login role only may take the role with the rights counts as connected", .database)
    func daemonWithoutInheritance() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with(["login", "service", "app"], owner: owner) { roles in
            let (login, service, app) = (roles[0], roles[1], roles[2])
            try await GrantedRole.grant(.daemon, to: service, by: owner)
            try await owner.execute(
                script: "ALTER ROLE \(login.name) NOINHERIT; GRANT \(service.name) TO \(login.name)")
            let name = "application_name=brocot%20daemon%201.0"
            let connections = [
                try await TestDatabase.connect(to: "\(login.url)&\(name)"),
                try await TestDatabase.connect(to: "\(app.url)&\(name)"),
            ]
            let daemons = try await owner.run { connection throws(PostgresError) in try LiveDaemon.all(on: connection) }
            #expect(daemons.map(\.pid) == [Int(connections[0].backendProcessIdentifier)])
        }
    }

    @Test(
        "brocot doctor looks for all daemons, and for missing rights of the first 100 roles, daemons first", .database)
    func manyRoles() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let prefix = "a_tenant_of_\(TestDatabase.current.name)_"
            func forEachTenant(_ statement: String) -> String {
                "DO $$ BEGIN FOR n IN 1..100 LOOP EXECUTE format('\(statement)', '\(prefix)' || n); END LOOP; END $$;"
            }
            try await owner.execute(
                script: forEachTenant("CREATE ROLE %1$s; GRANT SELECT ON brocot.items TO %1$s") + """
                    GRANT USAGE ON SCHEMA brocot TO PUBLIC; REVOKE INSERT ON brocot.move_log FROM \(roles[0].name)
                    """)
            let grants = try await examination().first { $0.check == "grants" }
            try await owner.execute(script: "GRANT INSERT ON brocot.move_log TO \(roles[0].name)")
            let repaired = try await examination().first { $0.check == "grants" }
            try await owner.execute(script: forEachTenant("DROP OWNED BY %1$s; DROP ROLE %1$s"))
            #expect(
                grants?.message.hasPrefix("daemon \(roles[0].name) lacks INSERT") == true,
                "\(String(describing: grants))")
            #expect(repaired?.level == .ok, "\(String(describing: repaired))")
            #expect(repaired?.message.hasPrefix("the first 100 roles") == true, "\(String(describing: repaired))")
        }
    }

    @Test("A role that may only read the queue is no reader of items", .database) func monitoringRole() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("monitor", owner: owner) { role in
            try await owner.execute(
                script:
                    "GRANT USAGE ON SCHEMA brocot TO \(role.name); GRANT SELECT ON brocot.move_requests TO \(role.name)"
            )
            // A reader needs rights on this table, too.
            try await owner.execute(
                script: RegisteredTable.script(columns: "id bigint, board bigint", item: "id"))
            #expect(try await examination().first { $0.check == "grants" }?.level == .ok)
        }
    }

    @Test("brocot doctor checks the keys of the other tables if the role has no right to read one", .database)
    func keysOfOtherTables() async throws {
        let owner = try await TestDatabase.current.connect()
        let keys = try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await owner.execute(
                script: """
                    CREATE SCHEMA closed;
                    CREATE TABLE closed.cards (id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric);
                    CREATE TABLE public.cards (id bigint, board char(3), rank_num bigint, rank_den bigint, rank numeric);
                    INSERT INTO brocot.ordered_tables VALUES
                        ('closed.cards', 'closed', 'cards', '{board}', 'id', false), ('public.cards', 'public', 'cards', '{board}', 'id', false);
                    """)
            return try await examination(url: roles[0].url).first { $0.check == "keys" }
        }
        #expect(keys?.level == .fail, "\(keys?.message ?? "")")
        #expect(keys?.message.contains("public.cards") == true, "\(keys?.message ?? "")")
        #expect(keys?.message.contains("closed.cards could not be checked") == true, "\(keys?.message ?? "")")
    }

    @Test("brocot doctor names rights that roles lack on a table that was registered after their grant", .database)
    func grants() async throws {
        let owner = try await TestDatabase.current.connect()
        let kinds = [RoleKind.daemon, .requester, .mover, .reader]
        let (results, repaired, names) = try await TestRole.with(kinds.map { "\($0.rawValue) o'f" }, owner: owner) {
            roles in
            for (kind, role) in zip(kinds, roles) { try await GrantedRole.grant(kind, to: role, by: owner) }
            try await owner.execute(
                script: RegisteredTable.script(columns: "id bigint, board bigint", item: "id"))
            let results = try await examination()
            for (kind, role) in zip(kinds, roles) { try await GrantedRole.grant(kind, to: role, by: owner) }
            return (results, try await examination().first { $0.check == "grants" }, roles.map(\.name))
        }
        let grants = try #require(results.first { $0.check == "grants" })
        #expect(grants.level == .warn)
        #expect(grants.message.contains(#"daemon \#(names[0]) lacks SELECT (board) on "public"."cards""#))
        for (kind, name) in zip(kinds, names) {
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
        let (results, repaired, role) = try await TestRole.with("by_hand", owner: owner) { role in
            try await owner.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role.name); GRANT \(insert) ON brocot.move_requests TO \(role.name);
                    """)
            let results = try await examination()
            try await GrantedRole.grant(.requester, to: role, by: owner)
            return (results, try await examination().first { $0.check == "grants" }, role.name)
        }
        #expect(results.allSatisfy { $0.failureKind == nil })
        let grants = try #require(results.first { $0.check == "grants" })
        #expect(grants.level == .warn)
        #expect(grants.message.hasPrefix("requester \(role) lacks "))
        #expect(grants.message.hasSuffix(" more)"))
        #expect(grants.details?.contains(#"requester \#(role): SELECT on "brocot"."sleepers""#) == true)
        #expect(grants.advice?.contains("brocot grant requester \(role)") == true)
        #expect(repaired?.level == .ok)
    }
}
