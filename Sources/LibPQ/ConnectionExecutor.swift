import Dispatch

/// Runs one connection's work on its own queue, so that a blocking call of libpq takes no thread from the program's
/// other tasks. (On Linux, Dispatch has no serial executor.)
final class ConnectionExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "LibPQ.Connection")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }
}
