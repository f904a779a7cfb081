import FaultHarness
import Glibc
import TestLimit
import Testing

@Suite("The proxy before a server", .usualTimeLimit) struct FaultProxyTests {
    @Test("The proxy refuses connections while the server is away, and takes them when it has returned")
    func serverIsAway() throws {
        let server = try SilentListener()
        let proxy = try FaultProxy(serverPorts: [server.port])
        defer { proxy.close() }
        for _ in 1...3 {
            #expect(connects(to: proxy))
            proxy.serverGoesAway()
            #expect(!connects(to: proxy))
            try proxy.serverReturns()
        }
        #expect(connects(to: proxy))
    }

    private func connects(to proxy: FaultProxy) -> Bool {
        guard let descriptor = LoopbackSocket.connect(port: proxy.ports[0]) else { return false }
        close(descriptor)
        return true
    }
}
