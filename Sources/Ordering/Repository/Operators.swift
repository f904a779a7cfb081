import LibPQ

/// The server's operators for values of key columns. A column may have an enum or a domain as its type, or `varchar`. For these
/// types `pg_catalog` has no operator with exactly the types of the operands, so another schema's would be preferred.
enum Operators {
    static let equal: SQL = "OPERATOR(pg_catalog.=)"
    static let atLeast: SQL = "OPERATOR(pg_catalog.>=)"
    static let atMost: SQL = "OPERATOR(pg_catalog.<=)"
}
