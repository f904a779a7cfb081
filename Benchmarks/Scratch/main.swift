import Brocot
import LibPQ
import Logging
var c = DaemonConfiguration(connection: try ConnectionParameters(url: CommandLine.arguments[1]))
c.drains = true
c.workers = Int(CommandLine.arguments[2])!
if CommandLine.arguments.count > 3 { c.queue.requestsPerBatch = Int(CommandLine.arguments[3])! }
try await Daemon(c, logger: Logger(label: "x")).run()
