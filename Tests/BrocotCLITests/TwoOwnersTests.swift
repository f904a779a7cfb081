import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Schema brocot and a table of two owners", .database(migrated: false), .usualTimeLimit)
struct TwoOwnersTests {
    private struct Owners {
        let administrator: Connection
        let ofSchema: TestRole
        let ofTable: TestRole
        let daemon: TestRole

        /// Schema `brocot` belongs to one role, and the table `tasks`, which has a row, to another one.
        static func with(_ body: (Owners) async throws -> Void) async throws {
            let administrator = try await TestDatabase.current.connect()
            try await TestRole.with(["table_owner", "daemon", "schema_owner"], owner: administrator) { roles in
                let (table, schema) = (roles[0].name, roles[2].name)
                try await administrator.execute(
                    script: """
                        GRANT CREATE ON DATABASE \(TestDatabase.current.name) TO \(schema); GRANT CREATE ON SCHEMA public TO \(table);
                        CREATE TABLE tasks (id int PRIMARY KEY); INSERT INTO tasks VALUES (1); ALTER TABLE tasks OWNER TO \(table);
                        """)
                #expect(try await BrocotProcess.run("migrate", "up", databaseURL: roles[2].url).exitCode == 0)
                try await body(
                    Owners(administrator: administrator, ofSchema: roles[2], ofTable: roles[0], daemon: roles[1]))
            }
        }

        /// Attaches the table, and gives the daemon its rights, as docs/operations.md says.
        func attach() async throws {
            try await administrator.execute(script: "GRANT \(ofSchema.name) TO \(ofTable.name)")
            for command in [TwoOwnersTests.attach, ["grant", "daemon", daemon.name]] {
                let result = try await BrocotProcess.run(command, databaseURL: ofTable.url)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
            try await administrator.execute(script: "REVOKE \(ofSchema.name) FROM \(ofTable.name)")
        }
    }

    private static let attach = ["attach", "public.tasks", "--item", "id"]

    @Test(
        "brocot attach by one of the owners names both, and the GRANT after which it succeeds",
        arguments: [[], ["--dry-run"], ["--visible", "id > 0"]])
    func attach(options: [String]) async throws {
        try await Owners.with { owners in
            for role in [owners.ofSchema, owners.ofTable] {
                let refused = try await BrocotProcess.run(Self.attach + options, databaseURL: role.url)
                #expect(refused.exitCode == 2)
                let (table, schema) = (owners.ofTable.name, owners.ofSchema.name)
                #expect(
                    refused.errors == """
                        brocot: public.tasks belongs to \(table), schema brocot to \(schema). Run this as a role that is a member of both: \
                        GRANT "\(schema)" TO "\(table)", attach as \(table), and REVOKE it after brocot grant. Nothing was changed.

                        """)
            }
            try await owners.attach()
        }
    }

    @Test("If a superuser owns schema brocot, brocot attach advises nobody to become its member", .database)
    func superuser() async throws {
        let administrator = try await TestDatabase.current.connect()
        try await TestRole.with("table_owner", owner: administrator) { role in
            try await administrator.execute(
                script: "CREATE TABLE tasks (id int PRIMARY KEY); ALTER TABLE tasks OWNER TO \(role.name)")
            let refused = try await BrocotProcess.run(Self.attach, databaseURL: role.url)
            #expect(
                refused.errors.contains(
                    "schema brocot to postgres. Run this as a role that is a member of both. Nothing was changed."),
                "\(refused.errors)")
            #expect(!refused.errors.contains("GRANT"), "\(refused.errors)")
        }
    }

    @Test("brocot doctor of the schema's owner does not ask for rights that the daemon's role has") func doctor()
        async throws
    {
        try await Owners.with { owners in
            try await owners.attach()
            let doctor = try await BrocotProcess.run("doctor", databaseURL: owners.ofSchema.url)
            #expect(doctor.exitCode == 0, "\(doctor.output)")
            let daemon = owners.daemon.name
            for text in [
                "ok    privileges  this role owns schema brocot, and another role has all rights of a daemon: \(daemon)",
                "warn  ranks       public.tasks could not be checked: permission denied for table tasks\n",
                "→ Run brocot doctor as the daemon's role: \(daemon).",
            ] { #expect(doctor.output.contains(text), "\(doctor.output)") }
            try await owners.administrator.execute(script: "REVOKE ALL ON tasks FROM \(daemon)")
            let withoutDaemon = try await BrocotProcess.run("doctor", databaseURL: owners.ofSchema.url)
            #expect(withoutDaemon.exitCode == 7)
            #expect(withoutDaemon.output.contains("fail  privileges  a daemon also needs"), "\(withoutDaemon.output)")
        }
    }

    @Test("brocot doctor of the schema's owner says whether a policy hides rows from the daemon's role")
    func policies() async throws {
        try await Owners.with { owners in
            try await owners.attach()
            let daemon = owners.daemon.name
            try await owners.administrator.execute(script: "ALTER TABLE tasks ENABLE ROW LEVEL SECURITY")
            let hidden = try await BrocotProcess.run("doctor", databaseURL: owners.ofSchema.url)
            #expect(hidden.exitCode == 0, "\(hidden.output)")
            #expect(
                hidden.output.contains("warn  policies    row-level security applies to \(daemon) on public.tasks"),
                "\(hidden.output)")
            try await owners.administrator.execute(script: "ALTER ROLE \(daemon) BYPASSRLS")
            let seen = try await BrocotProcess.run("doctor", databaseURL: owners.ofSchema.url)
            #expect(seen.output.contains("ok    policies    no policy applies to \(daemon)"), "\(seen.output)")
        }
    }
}
