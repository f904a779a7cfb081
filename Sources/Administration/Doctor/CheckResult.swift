/// The result of one check of `brocot doctor`.
package struct CheckResult: Sendable, Encodable {
    package enum Level: String, Sendable, Encodable {
        case ok
        /// Brocot works, but not as well as it could, or not for long.
        case warn
        case fail
    }

    /// The kind of failure, which determines the exit status.
    package enum FailureKind: Sendable {
        case invalidConfiguration, cannotConnect, schemaMissing, schemaChanged, schemaNewer, needsRepair
    }

    /// The name of the check, one or two words.
    package let check: String
    package let level: Level
    /// What was found.
    package let message: String
    /// All of what was found, if the message contains only a part. Only JSON contains them.
    package let details: [String]?
    /// What to do; nil if nothing needs to be done.
    package let advice: String?
    /// The kind of failure; nil unless the level is `fail`.
    package let failureKind: FailureKind?

    private enum CodingKeys: String, CodingKey {
        case check, level, message, details, advice
    }

    private init(
        _ check: String, _ level: Level, _ message: String, details: [String]? = nil, advice: String?,
        failureKind: FailureKind?
    ) {
        self.details = details
        self.check = check
        self.level = level
        self.message = message
        self.advice = advice
        self.failureKind = failureKind
    }

    package static func ok(_ check: String, _ message: String) -> CheckResult {
        CheckResult(check, .ok, message, advice: nil, failureKind: nil)
    }

    package static func warning(
        _ check: String, _ message: String, details: [String]? = nil, advice: String
    ) -> CheckResult {
        CheckResult(check, .warn, message, details: details, advice: advice, failureKind: nil)
    }

    package static func failure(
        _ check: String, _ message: String, details: [String]? = nil, advice: String,
        _ failureKind: FailureKind = .needsRepair
    ) -> CheckResult {
        CheckResult(check, .fail, message, details: details, advice: advice, failureKind: failureKind)
    }

    /// The same result with one more sentence in its message.
    func adding(_ sentence: String) -> CheckResult {
        CheckResult(
            check, level, "\(message); \(sentence)", details: details, advice: advice, failureKind: failureKind)
    }
}
