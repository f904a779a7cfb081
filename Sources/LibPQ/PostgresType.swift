/// The object identifier of a data type. The identifiers of the built-in types never change
/// (`src/include/catalog/pg_type.dat` of PostgreSQL).
package struct PostgresType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// For parameters: the server infers the type from the place of the parameter in the statement.
    static let inferred = PostgresType(rawValue: 0)
    package static let boolean = PostgresType(rawValue: 16)
    static let internalCharacter = PostgresType(rawValue: 18)
    package static let name = PostgresType(rawValue: 19)
    package static let bigint = PostgresType(rawValue: 20)
    package static let smallint = PostgresType(rawValue: 21)
    package static let integer = PostgresType(rawValue: 23)
    package static let text = PostgresType(rawValue: 25)
    package static let oid = PostgresType(rawValue: 26)
    package static let json = PostgresType(rawValue: 114)
    package static let doublePrecision = PostgresType(rawValue: 701)
    package static let unknown = PostgresType(rawValue: 705)
    package static let character = PostgresType(rawValue: 1042)
    package static let varchar = PostgresType(rawValue: 1043)
    package static let timestamptz = PostgresType(rawValue: 1184)
    package static let numeric = PostgresType(rawValue: 1700)
    package static let uuid = PostgresType(rawValue: 2950)
    package static let jsonb = PostgresType(rawValue: 3802)
    static let booleanArray = PostgresType(rawValue: 1000)
    static let nameArray = PostgresType(rawValue: 1003)
    static let smallintArray = PostgresType(rawValue: 1005)
    static let integerArray = PostgresType(rawValue: 1007)
    static let textArray = PostgresType(rawValue: 1009)
    static let characterArray = PostgresType(rawValue: 1014)
    static let varcharArray = PostgresType(rawValue: 1015)
    static let bigintArray = PostgresType(rawValue: 1016)
    static let oidArray = PostgresType(rawValue: 1028)

    private static let names: [PostgresType: String] = [
        .boolean: "boolean", .internalCharacter: "\"char\"", .name: "name", .bigint: "bigint", .smallint: "smallint",
        .integer: "integer", .text: "text", .oid: "oid", .json: "json", .unknown: "unknown", .character: "character",
        .varchar: "character varying", .timestamptz: "timestamptz", .numeric: "numeric", .jsonb: "jsonb",
        .doublePrecision: "double precision", .uuid: "uuid",
        .booleanArray: "boolean[]", .nameArray: "name[]", .smallintArray: "smallint[]", .integerArray: "integer[]",
        .textArray: "text[]", .characterArray: "character[]", .varcharArray: "character varying[]",
        .bigintArray: "bigint[]", .oidArray: "oid[]",
    ]

    /// The SQL name of a type of this list, else the number. `SELECT 600::regtype` returns the name of type 600.
    package var description: String { Self.names[self] ?? "with object identifier \(rawValue)" }
}
