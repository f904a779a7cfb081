import LocalPostgres
import ServiceLifecycle

/// A service that runs until the private server ends. If the server ends without a request to stop, that is a failure.
struct PrivateServerService: Service {
    let cluster: LocalCluster

    func run() async throws {
        let endedByItself = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await cluster.waitUntilStopped()
                return true
            }
            group.addTask {
                // An error means that the task was cancelled, which is a request to stop too.
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
