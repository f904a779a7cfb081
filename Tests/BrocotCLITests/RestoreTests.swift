import FaultHarness
import FoundationEssentials
import LibPQ
import LocalPostgres
import Subprocess
import TestPostgres
import Testing

@Suite("A database that was dumped and restored", .database, .timeLimit(.minutes(10))) struct RestoreTests {
    @Test("is what the migrations make, and its pending requests go on", arguments: [1, 2])
    func goesOn(times: Int) async throws {
        let original = TestDatabase.current
        try await original.connect().execute(
            """
            SELECT brocot.move('list ' || n % 7, 'item ' || n, first => true, idempotency_key => 'key ' || n)
            FROM generate_series(1, 500) AS n
            """)
        try await withCopy(of: original.name, on: original.cluster, times: times) { url in
            let verify = try await BrocotProcess.run("migrate", "verify", databaseURL: url)
            #expect(verify.exitCode == 0, "\(verify.errors)")
            let doctor = try await BrocotProcess.run("doctor", databaseURL: url)
            #expect(doctor.exitCode == 0, "\(doctor.output)")
            let daemon = try await BrocotProcess.run("daemon", "--drain", databaseURL: url)
            #expect(daemon.exitCode == 0, "\(daemon.errors)")
            let shown = try await BrocotProcess.run("show", "list 3", "--limit", "2", databaseURL: url)
            let items = shown.output.matches(of: /item \d+/).map { String($0.0) }
            #expect(items == ["item 500", "item 493"])
            let status = try await BrocotProcess.run("status", "--json", databaseURL: url)
            #expect(status.output.contains(#""pending" : 0"#) && status.output.contains(#""applied" : 500"#))
        }
    }

    /// Gives `body` the address of a database that was restored from a dump, so many times.
    private func withCopy(
        of name: String, on cluster: LocalCluster, times: Int, _ body: (String) async throws -> Void
    ) async throws {
        let administrator = try await TestDatabase.current.connect()
        let folder = "\(cluster.directory)/dump_\(name)"
        var copies = [name]
        for number in 1...times {
            let (file, copy) = ("\(folder)_\(number)", "\(name)_copy_\(number)")
            try await ServerCommand.run(
                cluster.installation.program("pg_dump"),
                ["--format=custom", "--file", file, "--dbname", await cluster.url(database: copies[number - 1])])
            try await administrator.execute("CREATE DATABASE \(identifier: copy) TEMPLATE template0")
            copies.append(copy)
            try await ServerCommand.run(
                cluster.installation.program("pg_restore"),
                ["--exit-on-error", "--dbname", await cluster.url(database: copy), file])
        }
        let url = await cluster.url(database: copies[times])
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(url))
        } catch {
            result = .failure(error)
        }
        for copy in copies.dropFirst() {
            try await administrator.execute("DROP DATABASE \(identifier: copy) WITH (FORCE)")
        }
        try result.get()
    }
}
