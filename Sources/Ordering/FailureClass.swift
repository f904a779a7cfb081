import LibPQ

/// Whose fault an error is that the database reports while requests are applied.
package enum FailureClass: Equatable, Sendable {
    /// The request's: it would fail again. What data or a trigger of the user's caused.
    case request(sqlState: String)
    /// Something else wrote the same rows: what was read is out of date.
    case staleRows
    /// The server's, the network's or the operator's: it decides nothing, and passes.
    case environment

    /// Classes of SQLSTATE that decide no request: connection, transaction state, statement name, authorization, rollback, syntax or
    /// access rule, resources, prerequisite state, operator intervention, system, internal.
    private static let environmental: Set<String> = ["08", "25", "26", "28", "40", "42", "53", "55", "57", "58", "XX"]

    package init(_ error: OrderingError) {
        switch error {
        case .rowsChangedUnderLock, .unexpectedRowCount:
            self = .staleRows
        case .invalidStoredRank, .readingDoesNotSettle, .unsupportedKeyType,
            .unsupportedListColumns:
            self = .environment
        case .database(let error):
            guard error.code == .server, let state = error.sqlState, !Self.environmental.contains(state.classCode)
            else {
                self = .environment
                return
            }
            self = state == .uniqueViolation ? .staleRows : .request(sqlState: state.rawValue)
        }
    }
}
