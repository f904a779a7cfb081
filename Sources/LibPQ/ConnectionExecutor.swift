import Dispatch

/// Runs one connection's work on a queue of its own, where libpq may block without taking a thread from the tasks of
/// the rest of the program. (Dispatch has no serial executor on Linux.)
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
