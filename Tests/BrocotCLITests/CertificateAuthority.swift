import FoundationEssentials
import LocalPostgres
import Subprocess
import TestPostgres

/// A certificate authority for one test, made with the program openssl in a folder.
struct CertificateAuthority {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: program)
    private static let program = "/usr/bin/openssl"

    struct Failure: Error {
        let errors: String
    }

    let folder: String
    let name: String

    /// For `sslrootcert`.
    var certificate: String { "\(folder)/\(name).crt" }

    init(_ name: String, in folder: String) async throws {
        self.folder = folder
        self.name = name
        try await Self.openssl(
            ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-keyout", "\(folder)/\(name).key"]
                + ["-out", "\(folder)/\(name).crt"] + Self.keyType)
    }

    /// A certificate for a host, with its key, in files that a server which runs as another user can read.
    func issue(for host: String) async throws -> (certificate: String, key: String) {
        let path = "\(folder)/\(host)"
        try await Self.openssl(
            ["req", "-nodes", "-subj", "/CN=\(host)", "-keyout", "\(path).key", "-out", "\(path).csr"] + Self.keyType)
        try Data("subjectAltName=DNS:\(host)\n".utf8).write(to: URL(filePath: "\(path).ext"))
        try await Self.openssl([
            "x509", "-req", "-days", "2", "-in", "\(path).csr", "-CA", certificate, "-CAkey", "\(folder)/\(name).key",
            "-CAcreateserial", "-extfile", "\(path).ext", "-out", "\(path).crt",
        ])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(path).key")
        try ServerAccount.needed()?.own("\(path).key")
        return ("\(path).crt", "\(path).key")
    }

    private static let keyType = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

    private static func openssl(_ arguments: [String]) async throws {
        let result = try await withDeadline("openssl ended") {
            try await Subprocess.run(
                .path(.init(program)), arguments: Arguments(arguments), output: .discarded,
                error: .string(limit: 1 << 16))
        }
        guard result.terminationStatus.isSuccess else { throw Failure(errors: result.standardError) }
    }
}
