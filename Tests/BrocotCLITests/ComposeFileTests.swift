import FoundationEssentials
import LibPQ
import Subprocess
import TestLimit
import TestPostgres
import Testing

/// Roles belong to the whole server, and those of docker-compose.yml have fixed names. So the test has a server of its own.
@Suite("docker-compose.yml", .usualTimeLimit) struct ComposeFileTests {
    @Test(
        """
        The roles, migrations and daemon of docker-compose.yml work together, also with a table that app owns, attached as the README says
        """,
        .database(migrated: false, on: .own()))
    func services() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await makeRoles()
        try await runMigrations()
        let app = try await TestDatabase.connect(to: Self.url(of: "app"))
        try await app.execute(
            script: "CREATE TABLE tasks (id int PRIMARY KEY, project_id int); INSERT INTO tasks VALUES (1, 7), (2, 7)")
        try await superuser.execute("GRANT app TO brocot_owner")
        for command in try Self.commandsOfTheReadMe() { try await run(command, as: "brocot_owner") }
        try await app.execute(
            "SELECT brocot.move('l', 'a', last => true), brocot.move(7, 2, first => true, ordered_table => 'public.tasks')"
        )
        try await app.execute("SELECT brocot.move_now(7, 1, first => true, ordered_table => 'public.tasks')")
        try await run(["daemon", "--drain"], as: "brocot_daemon")
        #expect(try await app.query("SELECT FROM brocot.items").count == 1)
        let order = try await app.query("SELECT id FROM tasks ORDER BY rank")
        #expect(try order.map { try $0.decode(0, as: Int.self) } == [2, 1])
        // Each `docker compose up` runs the services again.
        try await makeRoles()
        try await runMigrations()
        try await superuser.execute("REVOKE app FROM brocot_owner")
        let grant = try await BrocotProcess.run("grant", "requester", "app", databaseURL: Self.url(of: "brocot_owner"))
        #expect(grant.exitCode == 1, "without the membership, the migrations fail: \(grant.errors)")
    }

    @Test("The program accepts the options of the daemon in docker-compose.yml, and the mounted files exist")
    func optionsAndFiles() async throws {
        let file = try Repository.text(of: "docker-compose.yml")
        let command = try #require(file.firstMatch(of: /command: (\["daemon".*\])/)).1
        let options = try JSONDecoder().decode([String].self, from: Data(command.utf8))
        let dumped = try await BrocotProcess.run(
            options + ["--dump-config"], databaseURL: "postgresql://database/brocot")
        #expect(dumped.exitCode == 0, "\(dumped.errors)")
        let mounted = file.matches(of: /- \.\/(\S+?):\//).map { String($0.1) }
        #expect(mounted == ["deploy/roles.sql"])
        for path in mounted + ["Dockerfile"] { #expect(try !Repository.text(of: path).isEmpty) }
    }

    // MARK: Steps

    private static let passwords = ["brocot_owner": "owner's", "brocot_daemon": "of daemon", "app": "a%p"]

    /// The database over TCP, where the server asks for a password.
    private static func url(of role: String) throws -> String {
        let password = try #require(passwords[role]).replacing("%", with: "%25").replacing(" ", with: "%20")
        return TestDatabase.current.loopbackURL.replacing(/\/\/postgres:[^@]*@/, with: "//\(role):\(password)@")
    }

    /// Does the work of service `roles`.
    private func makeRoles() async throws {
        let (psql, url) = (TestDatabase.current.cluster.installation.program("psql"), TestDatabase.current.loopbackURL)
        let script = try Repository.text(of: "deploy/roles.sql")
        let passwords = Self.passwords
        let result = try await withDeadline("psql ended") {
            try await Subprocess.run(
                .path(.init(psql)), arguments: ["--no-psqlrc", "--quiet", "--dbname=\(url)"],
                environment: .inherit.updating([
                    "OWNER_PASSWORD": passwords["brocot_owner"], "DAEMON_PASSWORD": passwords["brocot_daemon"],
                    "APP_PASSWORD": passwords["app"],
                ]), input: .string(script), output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
        }
        #expect(result.terminationStatus.isSuccess && result.standardError.isEmpty, "\(result.standardError)")
    }

    /// Does the work of service `migrations`.
    private func runMigrations() async throws {
        let commands = try Repository.text(of: "docker-compose.yml").matches(of: /\n {8}brocot (.+)/).map {
            Self.words($0.1)
        }
        #expect(commands.map(\.first) == ["migrate", "grant", "grant"])
        for command in commands { try await run(command, as: "brocot_owner") }
    }

    /// The commands of the README in service `migrations`: they attach a table, and let `app` move its rows at once.
    private static func commandsOfTheReadMe() throws -> [[String]] {
        let readMe = try Repository.text(of: "README.md")
        let attach = try #require(readMe.firstMatch(of: /run --rm migrations '(brocot attach [^']+)'/)).1
        let mover = try #require(readMe.firstMatch(of: /run --rm migrations '(brocot grant mover app)'/)).1
        return (attach.split(separator: " && ") + [mover]).map { Array(words($0).dropFirst()) }
    }

    private static func words(_ command: Substring) -> [String] {
        command.filter { $0 != "'" }.split(separator: " ").map(String.init)
    }

    private func run(_ command: [String], as role: String) async throws {
        let result = try await BrocotProcess.run(command, databaseURL: Self.url(of: role))
        #expect(result.exitCode == 0, "\(command): \(result.errors)")
    }
}
