import LibPQ

/// Settings of a transaction that a user's trigger must not change, because Brocot's own statements would fail: the role, whether the
/// transaction only reads, and how text is encoded.
package struct GuardedSettings: Equatable, Sendable {
    private let values: [String]

    private static let array: SQL = """
        ARRAY[pg_catalog.current_setting('role'), pg_catalog.current_setting('transaction_read_only'),
            pg_catalog.current_setting('client_encoding')]
        """

    /// Reads the present settings.
    ///
    /// - Throws: An error of the server or the connection.
    package init(on connection: isolated Connection) throws(PostgresError) {
        values = try connection.query("SELECT \(Self.array)").single().decode(0)
    }

    /// A query that returns one Boolean: whether the settings still have these values.
    var areKept: SQL { "SELECT \(Self.array) OPERATOR(pg_catalog.=) \(values)" }
}
