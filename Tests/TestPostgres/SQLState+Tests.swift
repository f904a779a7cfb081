import LibPQ

/// States that only tests expect.
extension SQLState {
    package static let invalidTextRepresentation = SQLState(rawValue: "22P02")
    package static let notNullViolation = SQLState(rawValue: "23502")
    package static let checkViolation = SQLState(rawValue: "23514")
    package static let inFailedTransaction = SQLState(rawValue: "25P02")
    package static let invalidPassword = SQLState(rawValue: "28P01")
    package static let adminShutdown = SQLState(rawValue: "57P01")
}
