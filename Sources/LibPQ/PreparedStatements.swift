/// The prepared statements of a session.
struct PreparedStatements {
    struct Key: Hashable {
        /// The bytes of the text: two texts that Swift considers equal (canonical equivalence) may name two tables.
        let text: [UInt8]
        let types: [PostgresType]
    }

    /// Each prepared statement takes memory in the server until the session ends. Statements beyond this limit are parsed
    /// each time.
    static let limit = 256

    var names: [Key: String] = [:]
    /// Whether something else deallocates this session's statements, or has taken their names.
    private(set) var isOff = false
    /// The number of statements that this session has prepared. Each name contains this number, so no name is used
    /// twice. Forgotten statements count too, because the server keeps them.
    var count = 0

    mutating func keepNone() {
        (names, isOff) = ([:], true)
    }
}
