import Logging

extension Logger {
    /// A logger for tests that look at no log.
    package static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
