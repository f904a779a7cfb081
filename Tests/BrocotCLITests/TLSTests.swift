import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite(
    "Connections with sslmode=verify-full", .database,
    .enabled(if: CertificateAuthority.isAvailable, "the program openssl is not installed"),
    .enabled("the server was built without TLS") { try await ServerBuild.knowsTLS() }, .usualTimeLimit)
struct TLSTests {
    @Test("A server is accepted only with a certificate of the right authority and host", .database(on: .own()))
    func verification() async throws {
        try await withTemporaryFolder { folder in
            let authority = try await CertificateAuthority("authority", in: folder)
            let stranger = try await CertificateAuthority("stranger", in: folder)
            let server = try await authority.issue(for: "localhost")
            try await turnOn(server)
            let owner = try await TestDatabase.current.connect()
            try await owner.execute("SELECT brocot.move('l', 'a', last => true)")

            let trusted = try await drain("localhost", authority)
            #expect(trusted.exitCode == 0, "\(trusted.errors)")
            #expect(try await owner.query("SELECT FROM brocot.items").count == 1)

            let wrongAuthority = try await drain("localhost", stranger)
            #expect(wrongAuthority.exitCode == 6)
            #expect(wrongAuthority.errors.contains("certificate verify failed"))
            #expect(wrongAuthority.errors.contains("sslrootcert"))

            let wrongHost = try await drain("127.0.0.1", authority)
            #expect(wrongHost.exitCode == 6)
            #expect(wrongHost.errors.contains(#"does not match host name "127.0.0.1""#))
            #expect(wrongHost.errors.contains("name the host as the URL does"))
        }
    }

    @Test("A server without TLS is refused with exit code 6")
    func noTLS() async throws {
        try await withTemporaryFolder { folder in
            let result = try await drain("localhost", try await CertificateAuthority("authority", in: folder))
            #expect(result.exitCode == 6)
            #expect(result.errors.contains("server does not support SSL, but SSL was required"))
        }
    }

    private func turnOn(_ server: (certificate: String, key: String)) async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("ALTER SYSTEM SET ssl_cert_file = \(literal: server.certificate)")
        try await owner.execute("ALTER SYSTEM SET ssl_key_file = \(literal: server.key)")
        try await owner.execute("ALTER SYSTEM SET ssl = on")
        try await TestDatabase.current.cluster.restart()
    }

    private func drain(_ host: String, _ authority: CertificateAuthority) async throws -> BrocotProcess {
        let url = TestDatabase.current.loopbackURL.replacing("@127.0.0.1:", with: "@\(host):")
        return try await BrocotProcess.run(
            "daemon", "--drain", "--connect-wait", "0",
            databaseURL: "\(url)?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=\(authority.certificate)")
    }
}
