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
        case cannotConnect, schemaMissing, schemaChanged, schemaNewer, needsRepair
    }

    /// The name of the check, one or two words.
    package let check: String
    package let level: Level
    /// What was found.
    package let message: String
    /// What to do; nil if nothing needs to be done.
    package let advice: String?
    /// The kind of failure; nil unless the level is `fail`.
    package let failureKind: FailureKind?

    private enum CodingKeys: String, CodingKey {
        case check, level, message, advice
    }

    private init(_ check: String, _ level: Level, _ message: String, advice: String?, failureKind: FailureKind?) {
        self.check = check
        self.level = level
        self.message = message
        self.advice = advice
        self.failureKind = failureKind
    }

    package static func ok(_ check: String, _ message: String) -> CheckResult {
        CheckResult(check, .ok, message, advice: nil, failureKind: nil)
    }

    package static func warning(_ check: String, _ message: String, advice: String) -> CheckResult {
        CheckResult(check, .warn, message, advice: advice, failureKind: nil)
    }

    package static func failure(
        _ check: String, _ message: String, advice: String, _ failureKind: FailureKind = .needsRepair
    ) -> CheckResult {
        CheckResult(check, .fail, message, advice: advice, failureKind: failureKind)
    }
}
