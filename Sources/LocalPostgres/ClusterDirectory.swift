import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The files of one private server: its data, log, password and, if the path is short enough, its Unix socket.
/// Only the account that runs the server may enter the folder, so connections over the socket need no password.
struct ClusterDirectory: Sendable {
    /// The longest path of a Unix socket's address, in bytes, without the final NUL.
    static let longestSocketPath = 107

    let path: String
    /// The account that owns all files; nil means the current user.
    let account: ServerAccount?

    var data: String { "\(path)/data" }
    var log: String { "\(path)/log" }
    var passwordFile: String { "\(path)/password" }
    private var lockFile: String { "\(path)/lock" }
    private var portFile: String { "\(path)/port" }

    /// Creates a new folder in `parent`, or else in the system's folder for temporary files.
    static func temporary(
        in parent: String?, account: ServerAccount?
    ) async throws(LocalPostgresError) -> ClusterDirectory {
        var parents = ["/tmp"]
        if let chosen = ProcessInfo.processInfo.environment["TMPDIR"], !chosen.isEmpty { parents.insert(chosen, at: 0) }
        if let parent { parents.insert(parent, at: 0) }
        var refused = ""
        for parent in parents {
            // If this process is killed, the server's account deletes the folder.
            if let account, await !account.canWrite(to: parent) {
                refused = parent
                continue
            }
            return ClusterDirectory(path: try makeTemporaryDirectory(in: parent, owner: account), account: account)
        }
        throw .unreachableDirectory(path: refused, account: account?.name ?? "")
    }

    /// `preferred` if `account` can reach it, else a folder below ``rootsDirectory``.
    static func reachable(preferred: String, by account: ServerAccount) async throws(LocalPostgresError) -> String {
        let parent = URL(filePath: preferred).deletingLastPathComponent().path
        if await account.canEnter(parent) { return preferred }
        do {
            try FileManager.default.createDirectory(
                atPath: rootsDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        } catch {
            throw .fileSystem(operation: "create the folder", path: rootsDirectory, reason: "\(error)")
        }
        // The escapes make sure that `my-app` and `my/app` get different folders.
        let parts = preferred.split(separator: "/").map {
            $0.replacing("%", with: "%25").replacing("-", with: "%2D")
        }
        return rootsDirectory + "/" + parts.joined(separator: "-")
    }

    /// The folder for clusters of root whose preferred folder only root can reach.
    private static let rootsDirectory = "/var/lib/brocot"

    /// Creates the folder and the password unless they exist.
    func prepare() async throws(LocalPostgresError) {
        if mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else { throw failure("create the folder", path) }
            try refuseForeignFolder()
        }
        guard chmod(path, 0o700) == 0 else { throw failure("change the mode of", path) }
        try account?.own(path)
        if let account, await !account.canEnter(path) {
            throw .unreachableDirectory(path: path, account: account.name)
        }
        if !FileManager.default.fileExists(atPath: passwordFile) {
            try replace(passwordFile, with: Self.randomPassword() + "\n")
        }
    }

    /// Refuses a folder that others use, before its mode and owner change: one that has files but not those of a private server, or to
    /// which everybody may write.
    private func refuseForeignFolder() throws(LocalPostgresError) {
        try refuseLinkAndOtherOwner()
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("read the status of", path) }
        let files: Set<String>
        do {
            files = Set(try FileManager.default.contentsOfDirectory(atPath: path))
        } catch {
            throw .fileSystem(operation: "read the folder", path: path, reason: "\(error)")
        }
        let isNew = files.isEmpty && status.st_mode & S_IWOTH == 0
        // A private server's folder gets the file `password` first, and the file `lock` next.
        let isOwn = files == ["password"] || files.isSuperset(of: ["password", "lock"])
        guard isNew || isOwn else {
            let reason =
                files.isEmpty ? "everybody may write to it" : "it has files that are not those of a private server"
            throw .fileSystem(
                operation: "use the folder", path: path,
                reason: "\(reason); choose a new folder, or an empty one of your own")
        }
    }

    /// As root, refuses a link and a folder of another user: their target would get another owner. A downloaded project may contain such
    /// a link.
    private func refuseLinkAndOtherOwner() throws(LocalPostgresError) {
        guard let account else { return }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw failure("read the status of", path) }
        guard status.st_mode & S_IFMT == S_IFDIR, [getuid(), account.userID].contains(status.st_uid) else {
            throw .fileSystem(
                operation: "use the folder", path: path,
                reason: "it is not a folder of root or of user \(account.name); remove it, or choose another one")
        }
    }

    /// The superuser's password, for connections over the loopback address.
    func password() throws(LocalPostgresError) -> String {
        guard let line = read(passwordFile)?.split(separator: "\n").first else {
            throw .fileSystem(operation: "read the password in", path: passwordFile, reason: "it is empty or missing")
        }
        return String(line)
    }

    /// The port of the server's last start. It is used again so that URLs stay valid.
    func previousPort() -> UInt16? {
        read(portFile).flatMap { UInt16($0.filter(\.isNumber)) }
    }

    func remember(port: UInt16) throws(LocalPostgresError) {
        try replace(portFile, with: "\(port)\n")
    }

    /// Takes the lock that keeps a second process from running this server. The lock is held until this process releases it
    /// or ends.
    func lock() throws(LocalPostgresError) -> FileLock {
        // A downloaded project may contain a link here.
        let descriptor = open(lockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("open", lockFile) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            if errno == EWOULDBLOCK { throw .alreadyRunning(directory: path) }
            throw failure("lock", lockFile)
        }
        return FileLock(descriptor: descriptor)
    }

    /// Reads `postmaster.pid`: the server's process (line 1), and whether the server accepts connections (line 8).
    func postmaster() -> (process: pid_t, isReady: Bool)? {
        guard let text = read("\(data)/postmaster.pid") else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let process = lines.first.flatMap({ pid_t($0) }) else { return nil }
        return (process, lines.count > 7 && (lines[7].hasPrefix("ready") || lines[7].hasPrefix("standby")))
    }

    /// The last lines of the server's log.
    func logTail(lines: Int = 12) -> String {
        (read(log) ?? "").split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Creates an empty folder that only `owner` may enter.
    static func makeTemporaryDirectory(
        in parent: String, owner: ServerAccount?
    ) throws(LocalPostgresError) -> String {
        var template = Array("\(parent)/brocot-\(String(repeating: "X", count: 6))".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .fileSystem(
                operation: "create a folder in", path: parent, reason: String(cString: strerror(errno)))
        }
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try owner?.own(path)
        return path
    }

    /// Whether the socket of a server on any port fits below `directory`. A comma separates folders in the
    /// server's setting, and hosts in a URL.
    static func socketFits(in directory: String) -> Bool {
        "\(directory)/.s.PGSQL.65535.lock".utf8.count <= longestSocketPath
            && !directory.utf8.contains(UInt8(ascii: ","))
    }

    /// 26 characters of an alphabet of 32 are 130 bits. l, o, 0 and 1 are left out, because they look alike.
    private static let passwordLength = 26

    private static func randomPassword() -> String {
        let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
        var generator = SystemRandomNumberGenerator()
        return String((0..<passwordLength).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] })
    }

    private func read(_ file: String) -> String? {
        try? String(contentsOfFile: file, encoding: .utf8)
    }

    /// Replaces a file, also if it is a link: a downloaded project may contain one.
    private func replace(_ file: String, with text: String) throws(LocalPostgresError) {
        let new = "\(file).new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("create", new) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw failure("write", new) }
        if let account, fchown(descriptor, account.userID, account.groupID) != 0 {
            throw failure("change the owner of", new)
        }
        guard rename(new, file) == 0 else { throw failure("replace", file) }
    }

    private func failure(_ operation: String, _ path: String) -> LocalPostgresError {
        .fileSystem(operation: operation, path: path, reason: String(cString: strerror(errno)))
    }
}

/// An open, locked file. The lock ends when this object is deallocated.
final class FileLock: Sendable {
    private let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        // close() is not enough: a subprocess that is just being started also has the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
