import LibPQ

/// The cause of an error that the database reports while requests are applied.
package enum FailureClass: Equatable, Sendable {
    /// The request: its data, or a user's function such as a trigger, caused the error, and it would fail again.
    case request
    /// Another session wrote the same rows, or a trigger did not write them as requested. The rows are read again.
    case staleRows
    /// The server, the network or the operator. The error decides no request, and is temporary.
    case environment

    /// Classes of SQLSTATE that decide no request if one of Brocot's own statements causes them: connection, feature,
    /// transaction state, statement name, authorization, schema name, rollback, syntax or access rule, resources, prerequisite state,
    /// operator intervention, system, old snapshot, internal. `brocot.error_code` has the same list.
    private static let environmental: Set<String> = [
        "08", "0A", "25", "26", "28", "3F", "40", "42", "53", "55", "57", "58", "72", "XX",
    ]
    /// Classes of SQLSTATE that decide no request even if a user's function causes them, unless the function raises them on
    /// purpose.
    private static let environmentalAnywhere: Set<String> = ["08", "53", "57", "58", "72", "XX"]

    package init(_ error: OrderingError) {
        switch error {
        case .rowsChangedUnderLock, .unexpectedRowCount:
            self = .staleRows
        case .invalidStoredRank, .ranksOutOfOrder, .readingDoesNotSettle, .unsupportedKeyType, .missingColumn,
            .triggerOfOtherOrder, .untrustedOwner, .rowsLocked, .tookTooLong, .unreadableTable:
            self = .environment
        case .database(let error):
            guard error.code == .server, let state = error.sqlState, !Self.isEnvironmental(state, error) else {
                self = .environment
                return
            }
            self = error.isFromRankIndex ? .staleRows : .request
        }
    }

    /// Whether an error with this SQLSTATE decides no request if it is not known to come from a user's function.
    package static func isEnvironmental(_ state: SQLState) -> Bool { environmental.contains(state.classCode) }

    private static func isEnvironmental(_ state: SQLState, _ error: PostgresError) -> Bool {
        guard isEnvironmental(state), !error.isRaisedOnPurpose else { return false }
        return environmentalAnywhere.contains(state.classCode) || state == .lockNotAvailable
            || state == .deadlockDetected || error.isFromTableFile || !error.isFromFunction
    }
}

extension OrderingError {
    /// Whether the error concerns all lists of a table, such as a missing column, or a table that must not be used. Errors of writing don't count: only
    /// some moves may need the right or the function that is missing.
    package var concernsTable: Bool {
        switch self {
        case .unreadableTable, .unsupportedKeyType, .missingColumn, .triggerOfOtherOrder, .untrustedOwner: true
        case .database, .rowsChangedUnderLock, .unexpectedRowCount, .rowsLocked, .tookTooLong, .invalidStoredRank,
            .ranksOutOfOrder, .readingDoesNotSettle:
            false
        }
    }

    /// The same error of a statement that only reads.
    var whileReading: OrderingError {
        if case .database(let error) = self, error.isIndependentOfRows { .unreadableTable(error) } else { self }
    }
}

extension PostgresError {
    /// Whether the server refuses a statement of Brocot itself that reads, whatever rows the table has: a table, a column, a function or a right is
    /// missing. An error with a context comes from another function, which may fail for some lists only.
    fileprivate var isIndependentOfRows: Bool {
        code == .server && sqlState?.classCode == "42" && context == nil && !isRaisedOnPurpose && !isFromTableFile
    }

    /// Whether an index or a key of Brocot refused a second row with the same rank, or a second row of an item in `brocot.items`.
    /// Any other unique key is a constraint of the user. In a partition that was created after `brocot attach`, the server has chosen the
    /// index's name; the error does not tell that it is a part of Brocot's index, so it counts as a constraint of the user.
    fileprivate var isFromRankIndex: Bool {
        sqlState == .uniqueViolation
            && (schema == "brocot" || constraint?.hasPrefix(OrderNames.indexPrefix) == true)
    }

    /// Whether the error comes from within a function: the server then names the function in the error's context. A context
    /// that contains only the query of a foreign key does not count.
    package var isFromFunction: Bool {
        guard let context else { return false }
        return !context.contains(/^[^\n]*(SELECT 1 FROM|DELETE FROM|UPDATE) ONLY [^\n]*$/)
    }

    /// Whether the server could not open or write a table's file. A file system that became read-only causes the same SQLSTATE as a
    /// missing right of the role. The server's functions for these files have names of this form.
    fileprivate var isFromTableFile: Bool {
        guard let sourceFunction else { return false }
        return sourceFunction.hasPrefix("md") || sourceFunction.hasPrefix("_md")
    }

    /// Whether RAISE of PL/pgSQL reported the error. Then the user's function chose the SQLSTATE, which says nothing about the
    /// server. An error that a handler raises again keeps the server's function that reported it first.
    package var isRaisedOnPurpose: Bool { sourceFunction == "exec_stmt_raise" }
}
