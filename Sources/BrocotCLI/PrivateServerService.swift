import LocalPostgres
import ServiceLifecycle

/// Ends when the private server does: on request, or by itself, which is a failure.
struct PrivateServerService: Service {
    let cluster: LocalCluster

    func run() async throws {
        let endedByItself = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await cluster.waitUntilStopped()
                return true
            }
            group.addTask {
                // Throws when it is cancelled, which is a request too.
                try? await gracefulShutdown()
                return false
            }
            let endedByItself = await group.next() ?? true
            await cluster.shutDown()
            group.cancelAll()
            return endedByItself
        }
        if endedByItself {
            throw CommandFailure(.failed, "The PostgreSQL server ended by itself. Its log is \(cluster.logFile)")
        }
    }
}
