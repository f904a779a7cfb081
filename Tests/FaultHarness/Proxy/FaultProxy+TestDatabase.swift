import LibPQ
import TestPostgres
import Testing

extension FaultProxy {
    /// A proxy between a test and its database, and the URL of the database through the proxy, as the superuser, with
    /// the password. The caller closes the proxy.
    package static func beforeTestDatabase() throws -> (FaultProxy, url: String) {
        let direct = TestDatabase.current.loopbackURL
        let proxy = try FaultProxy(
            serverPorts: [try #require(ConnectionParameters(url: direct)["port"].flatMap { UInt16($0) })])
        let url = direct.replacing(/:[0-9]+\//, with: ":\(proxy.ports[0])/")
        return (proxy, url + "?sslmode=disable&gssencmode=disable")
    }
}
