/// The error of the database for a request that was tried alone.
package struct Refusal: Sendable, CustomStringConvertible {
    package let message: String
    package let sqlState: String?

    package var description: String { message + (sqlState.map { " (SQLSTATE \($0))" } ?? "") }
}
