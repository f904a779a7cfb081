import FoundationEssentials
import Subprocess
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@testable import LocalPostgres

@Suite("Private server", .usualTimeLimit)
struct LocalClusterTests {
    @Test("A private server answers on its socket without a password, and on TCP with a password; it takes settings")
    func answersBothWays() async throws {
        try await withCluster(settings: ["max_connections": "37"]) { cluster async throws in
            let tcp = await cluster.loopbackURL(database: "postgres")
            let url = await cluster.url(database: "postgres")
            #expect(try await query("SELECT 'socket'", at: url) == "socket")
            #expect(try await query("SELECT 'tcp'", at: tcp) == "tcp")
            let withoutPassword = tcp.replacing(/:[a-z0-9]+@/, with: "@")
            #expect(try await query("SELECT 1", at: withoutPassword) == nil)
            #expect(try await query("SHOW server_encoding", at: url) == "UTF8")
            #expect(try await query(Self.collation, at: url) == "C", "it sorts by bytes")
            #expect(try await query("SHOW max_connections", at: url) == "37")
        }
    }

    /// From PostgreSQL 16 on, no setting shows the collation.
    private static let collation =
        "SELECT datcollate::text FROM pg_database WHERE datname = current_database()"

    @Test("A start that is cancelled leaves no server behind that nobody knows")
    func cancelledStart() async throws {
        let cluster = try await TestServer.makeCluster(settings: [:])
        try await TestServer.copyPreparedData(to: cluster)
        let starting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await cluster.start()
        }
        _ = try await starting.result(until: "the cancelled start ended")
        let process = await cluster.serverProcess
        await cluster.shutDown()
        if let process { #expect(kill(process, 0) != 0) }
        #expect(process != nil, "the server that was started is known")
        #expect(!FileManager.default.fileExists(atPath: cluster.directory))
    }

    @Test(
        "A private server keeps its data and its address over restarts and when it is killed, and leaves nothing behind"
    )
    func keepsDataOverRestart() async throws {
        let cluster = try await TestServer.makeCluster(settings: [:])
        do {
            try await TestServer.startPrepared(cluster)
            let url = await cluster.url(database: "postgres")
            _ = try await query("CREATE TABLE kept AS SELECT 7 AS n", at: url)
            for mode in [LocalCluster.StopMode.fast, .immediate] {
                try await cluster.restart(mode)
                #expect(try await query("SELECT n FROM kept", at: url) == "7", "after a restart: \(mode)")
            }
            kill(try #require(await cluster.serverProcess), SIGKILL)
            await cluster.waitUntilStopped()
            try await cluster.restart()
            #expect(try await query("SELECT n FROM kept", at: url) == "7", "after the server was killed")
        } catch {
            await cluster.shutDown()
            throw error
        }
        let process = try #require(await cluster.serverProcess)
        await cluster.shutDown()
        #expect(kill(process, 0) != 0)
        #expect(!FileManager.default.fileExists(atPath: cluster.directory))
    }

    @Test("A wrong setting is reported with the server's own words")
    func reportsStartFailure() async throws {
        let cluster = try await TestServer.makeCluster(settings: ["work_mem": "plenty"])
        try await TestServer.copyPreparedData(to: cluster)
        let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
        #expect(error?.description.contains(#"invalid value for parameter "work_mem""#) == true)
        await cluster.shutDown()
    }

    @Test(
        "A private server works in a folder whose path is too long for a socket, or has a comma",
        arguments: [String(repeating: "long", count: 30), "drafts, old"])
    func worksInFolderWithoutSocket(name: String) async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: parentOfFolders, owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let cluster = try await LocalCluster(.init(directory: "\(parent)/\(name)"), installation: .locate())
        try await cluster.start()
        #expect(try await query("SELECT 1", at: cluster.url(database: "postgres")) == "1")
        await cluster.shutDown()
    }

    @Test(
        "As root, a private server refuses a folder that is a link, and leaves its target unchanged",
        .enabled(if: getuid() == 0))
    func linkedFolder() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: "/tmp", owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        try FileManager.default.createDirectory(
            atPath: parent + "/target", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        try FileManager.default.createSymbolicLink(atPath: parent + "/link", withDestinationPath: parent + "/target")
        await #expect(throws: LocalPostgresError.self) {
            try await LocalCluster(.init(directory: parent + "/link"), installation: .locate())
        }
        var status = stat()
        #expect(lstat(parent + "/target", &status) == 0)
        #expect(status.st_uid == 0)
        #expect(status.st_mode & 0o777 == 0o755)
    }

    @Test(
        "A private server refuses a folder with other files, and one that everybody may write to, and leaves it unchanged"
    )
    func foreignFolder() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: "/tmp", owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        for (name, mode, files) in [("project", 0o755, ["password", "Makefile"]), ("shared", 0o1777, [])] {
            let folder = "\(parent)/\(name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            for file in files { #expect(FileManager.default.createFile(atPath: "\(folder)/\(file)", contents: Data())) }
            chmod(folder, mode_t(mode))
            let error = await #expect(throws: LocalPostgresError.self) {
                try await LocalCluster(.init(directory: folder), installation: .locate())
            }
            #expect(error?.description.contains("choose a new folder") == true)
            var status = stat()
            #expect(stat(folder, &status) == 0)
            #expect(status.st_uid == getuid() && Int(status.st_mode & 0o7777) == mode)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == files.sorted())
        }
    }

    @Test("A private server whose lock is a link does not start, and does not create the link's target")
    func linkedLock() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: "/tmp", owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let cluster = try await LocalCluster(.init(directory: "\(parent)/cluster"), installation: .locate())
        try FileManager.default.createSymbolicLink(
            atPath: "\(parent)/cluster/lock", withDestinationPath: "\(parent)/target")
        let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
        #expect(error?.description.contains("\(parent)/cluster/lock") == true)
        #expect(!FileManager.default.fileExists(atPath: "\(parent)/target"))
    }

    @Test("A private server replaces links with files of its own, and leaves the links' targets unchanged")
    func linkedFiles() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: parentOfFolders, owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let (directory, target) = ("\(parent)/cluster", "\(parent)/target")
        #expect(FileManager.default.createFile(atPath: target, contents: Data("0\n".utf8)))
        chmod(target, 0o644)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory)/password", withDestinationPath: "\(parent)/missing")
        let cluster = try await LocalCluster(.init(directory: directory), installation: .locate())
        try FileManager.default.createSymbolicLink(atPath: "\(directory)/port", withDestinationPath: target)
        try await cluster.start()
        #expect(try await query("SELECT 1", at: cluster.loopbackURL(database: "postgres")) == "1")
        await cluster.shutDown()
        #expect(!FileManager.default.fileExists(atPath: "\(parent)/missing"))
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "0\n")
        var status = stat()
        #expect(lstat(target, &status) == 0)
        #expect(status.st_uid == getuid() && status.st_mode & 0o777 == 0o644)
        for file in ["password", "port"] {
            #expect(lstat("\(directory)/\(file)", &status) == 0)
            #expect(status.st_mode == S_IFREG | 0o600)
        }
    }

    @Test("A private server works in an empty folder")
    func emptyFolder() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: parentOfFolders, owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        try FileManager.default.createDirectory(atPath: "\(parent)/empty", withIntermediateDirectories: false)
        let cluster = try await LocalCluster(.init(directory: "\(parent)/empty"), installation: .locate())
        try await TestServer.startPrepared(cluster)
        #expect(try await query("SELECT 1", at: cluster.url(database: "postgres")) == "1")
        await cluster.shutDown()
        // The next cluster accepts the folder, although it is not empty, because the folder is that of a private
        // server.
        let next = try await LocalCluster(.init(directory: "\(parent)/empty"), installation: .locate())
        await next.shutDown()
    }

    @Test(
        "As root, private servers of different unreachable folders have different folders", .enabled(if: getuid() == 0))
    func unreachableFolders() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: "/tmp", owner: nil)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        var folders: Set<String> = []
        for preferred in ["my-app/.brocot", "my/app/.brocot", "my%2Dapp/.brocot", "my/-app/.brocot", "my-/app/.brocot"]
        {
            folders.insert(try await LocalCluster.lastingDirectory(preferred: "\(parent)/\(preferred)"))
        }
        #expect(folders.count == 5, "\(folders)")
    }

    @Test("A private server in a lasting folder keeps its data and its port, and refuses a second owner")
    func lastingFolder() async throws {
        let parent = try ClusterDirectory.makeTemporaryDirectory(in: parentOfFolders, owner: nil)
        chmod(parent, 0o755)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let first = try await LocalCluster(.init(directory: parent + "/cluster"), installation: .locate())
        try await TestServer.startPrepared(first)
        let url = await first.url(database: "postgres")
        _ = try await query("CREATE TABLE kept AS SELECT 7 AS n", at: url)

        let second = try await LocalCluster(.init(directory: parent + "/cluster"), installation: .locate())
        await #expect(throws: LocalPostgresError.alreadyRunning(directory: parent + "/cluster")) {
            try await second.start()
        }
        await first.shutDown()
        try await second.start()
        #expect(await second.url(database: "postgres") == url)
        #expect(try await query("SELECT n FROM kept", at: url) == "7")
        await second.shutDown()
    }
}

/// The folder for servers' lasting folders: in memory where there is enough of it.
private let parentOfFolders = MemoryFileSystem.path ?? "/tmp"

/// Runs `body` with a throwaway server of its own, which initializes its data.
private func withCluster(
    settings: [String: String] = [:], _ body: (LocalCluster) async throws -> Void
) async throws {
    let cluster = try await TestServer.makeCluster(settings: settings)
    do {
        try await cluster.start()
        try await body(cluster)
    } catch {
        await cluster.shutDown()
        throw error
    }
    await cluster.shutDown()
}

/// What `psql` prints for one statement, or nil if it fails.
func query(_ sql: String, at url: String) async throws -> String? {
    let psql = try await PostgresInstallation.locate().program("psql")
    let result = try await withDeadline("psql ended") {
        try await run(
            .path(.init(psql)), arguments: ["-X", "-w", "-A", "-t", "-q", "-c", sql, url],
            output: .string(limit: 65_536), error: .discarded)
    }
    guard result.terminationStatus.isSuccess else { return nil }
    return result.standardOutput.split(separator: "\n").joined(separator: "\n")
}
