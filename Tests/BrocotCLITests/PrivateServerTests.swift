import FoundationEssentials
import LibPQ
import LocalPostgres
import Subprocess
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Private servers of brocot dev and brocot demo", .usualTimeLimit) struct PrivateServerTests {
    /// In memory where there is enough of it.
    private static let parent = MemoryFileSystem.path ?? "/tmp"

    /// Gives `body` a folder where `brocot dev` finds a server that was initialized before, but no database.
    private func withPreparedFolder(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder(in: Self.parent) { folder in
            let cluster = try await LocalCluster(.init(directory: "\(folder)/.brocot"), installation: .locate())
            try await TestServer.startPrepared(cluster)
            await cluster.shutDown()
            try await body(folder)
        }
    }

    @Test("brocot dev applies moves, ends on Ctrl-C, and keeps its data for the next start")
    func devKeepsItsData() async throws {
        try await withTemporaryFolder(in: Self.parent) { folder in
            let first = try await RunningBrocot.run(["dev"], in: folder, until: "ORDER BY rank;") { dev async throws in
                let connection = try await connect(to: dev)
                try await connection.execute("SELECT brocot.move('letters', 'a', last => true)")
                try await eventually("the item is there") {
                    try await !connection.query("SELECT FROM brocot.items").isEmpty
                }
                dev.send(SIGINT)
            }
            #expect(first == 0)
            let second = try await RunningBrocot.run(["dev"], in: folder, until: "ORDER BY rank;") { dev async throws in
                let items = try await connect(to: dev).query("SELECT item FROM brocot.items")
                #expect(try items.single().decode(0, as: String.self) == "a")
                dev.send(SIGTERM)
            }
            #expect(second == 0)
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/.brocot/data/postmaster.pid"))
        }
    }

    @Test("A second brocot dev is refused, and prints the URL of the first")
    func devRefusesASecond() async throws {
        try await withPreparedFolder { folder in
            let exitCode = try await RunningBrocot.run(["dev"], in: folder, until: "ORDER BY rank;") { dev in
                let second = try await BrocotProcess.run("dev", "--directory", "\(folder)/.brocot", databaseURL: "")
                #expect(second.exitCode == 1)
                let url = try #require(dev.output.firstMatch(of: /postgresql:[^\s']+/)).output
                #expect(second.errors.contains("Another brocot dev already runs"))
                #expect(second.errors.contains("Its URL: \(url)\n"), "\(second.errors)")
                dev.send(SIGINT)
            }
            #expect(exitCode == 0)
        }
    }

    @Test("brocot dev prints commands that work when they are pasted, and prints rejections as they happen")
    func devIsUsable() async throws {
        try await withPreparedFolder { folder in
            let printed = PrintedText()
            let exitCode = try await RunningBrocot.run(
                ["dev"], in: folder, until: "printed here.", printing: printed
            ) { dev async throws in
                let commands = [/export DATABASE_URL='[^']+'/, /\S+ show groceries/, /\S+ status/]
                let pasted = try commands.map { try #require(dev.output.firstMatch(of: $0)).output }
                    .joined(separator: "\n")
                let (isSuccess, output, errors) = try await withDeadline("the pasted commands ended") {
                    let shell = try await Subprocess.run(
                        .path("/bin/sh"), arguments: ["-ec", "unset BROCOT_DATABASE_URL; cd /\n\(pasted)"],
                        output: .string(limit: 10_000), error: .string(limit: 10_000))
                    return (shell.terminationStatus.isSuccess, shell.standardOutput, shell.standardError)
                }
                #expect(isSuccess, "\(errors)")
                #expect(output.contains("pending         0"), "\(output)")
                let connection = try await connect(to: dev)
                try await connection.execute("SELECT brocot.move('letters', 'a', after => 'nothing')")
                try await eventually(
                    "the rejection is printed", read: { printed.text },
                    until: { text in
                        text.contains("rejected a request") && text.contains("code=anchor_not_found")
                            && text.contains("list=items/letters")
                    })
                dev.send(SIGINT)
            }
            #expect(exitCode == 0)
        }
    }

    @Test("The server of brocot dev ends when brocot dev is killed, and the next brocot dev starts at once")
    func devLeavesNoServer() async throws {
        try await withPreparedFolder { folder in
            let killed = try await RunningBrocot.run(["dev"], in: folder, until: "ORDER BY rank;") { dev async throws in
                dev.send(SIGKILL)
            }
            #expect(killed == nil)
            let next = try await RunningBrocot.run(["dev"], in: folder, until: "ORDER BY rank;") { dev async throws in
                #expect(try await connect(to: dev).query("SELECT FROM brocot.items").isEmpty)
                dev.send(SIGINT)
            }
            #expect(next == 0)
        }
    }

    @Test(
        "brocot demo shows the list after each move with the rows that were written, whatever server the environment names"
    )
    func demo() async throws {
        let result = try await BrocotProcess.run(
            "demo", databaseURL: "",
            environment: [
                "NO_COLOR": "1", "TMPDIR": Self.parent, "PGHOSTADDR": "127.0.0.2", "PGSERVICE": "another",
                "PGSERVICEFILE": "/nowhere",
            ])
        #expect(result.exitCode == 0, "\(result.errors)")
        let steps = result.output.split(separator: "SELECT brocot.move")
        let first = try #require(steps[1].split(separator: "\n").first { $0.contains(" 0  ") })
        #expect(first.contains("Reminders arrive an hour late  -1/1"))
        let written = steps.map { step in step.split(separator: "\n").count { $0.hasSuffix("written") } }
        #expect(written == [0, 1, 2, 1])
        #expect(result.output.contains("3 moves wrote 4 rows"))
    }

    @Test("A killed brocot demo leaves no process and no file")
    func demoLeavesNothing() async throws {
        try await withTemporaryFolder(in: Self.parent) { folder in
            try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder)
            // A shell sees the right moment even on a busy machine, where this process may be too late: the
            // server's shell runs, and creates the data.
            let isSuccess = try await withDeadline("the shell killed brocot demo") {
                try await Subprocess.run(
                    .path("/bin/sh"),
                    arguments: [
                        "-c",
                        """
                        "$0" demo & demo=$!
                        until ls "$TMPDIR"/*/log; do kill -0 "$demo" || exit 1; sleep 0.01; done
                        kill -9 "$demo"
                        """, BrocotProgram.path,
                    ],
                    environment: .inherit.updating(["TMPDIR": folder]), output: .discarded, error: .discarded
                ).terminationStatus.isSuccess
            }
            #expect(isSuccess, "demo was to be killed before its end")
            try await eventually(
                "demo's folder is gone", read: { try FileManager.default.contentsOfDirectory(atPath: folder) },
                until: { $0.isEmpty })
        }
    }

    @Test("brocot demo explains if PostgreSQL is missing")
    func withoutPostgres() async throws {
        let result = try await BrocotProcess.run(
            "demo", databaseURL: "", environment: ["BROCOT_POSTGRES_BIN": "/nowhere"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("BROCOT_POSTGRES_BIN is /nowhere, which has no program initdb"))
    }

    private func connect(to dev: RunningBrocot) async throws -> Connection {
        let url = try #require(dev.output.firstMatch(of: /postgresql:[^\s']+/)).output
        return try await TestDatabase.connect(to: String(url))
    }
}
