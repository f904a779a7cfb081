import LibPQ

extension PostgresError {
    /// Whether the server refused an expression that a user wrote, or its result for a row. Otherwise the server, its settings or a
    /// missing right may be the cause.
    var isAboutExpression: Bool {
        guard let state = sqlState, state != .insufficientPrivilege else { return false }
        // Unsupported features (such as a subquery where none is allowed), data, syntax and names, exceptions of functions.
        return ["0A", "22", "42", "P0"].contains(state.classCode)
    }

    /// Whether the server knows no function, type or collation of this name.
    var isAboutUnknownName: Bool { sqlState == .undefinedFunction || sqlState == .undefinedObject }
}
