import LibPQ

/// The type of a key column of an ordered table. A domain counts as its base type.
///
/// Requests contain keys as text. Only the canonical text of a value is accepted, because `01` would be a second
/// name for the list `1`. So a key type must have the same text for a value in every session.
package enum KeyType: Hashable, Sendable {
    case text
    /// `longest` is the greatest number of characters; nil if there is no limit.
    case varchar(longest: Int?)
    case smallint
    case integer
    case bigint
    case uuid
    case boolean
    case date
    case enumeration(Enumeration)

    /// An enumerated type of the user.
    package struct Enumeration: Hashable, Sendable {
        package let schema: String
        package let name: String
        let labels: Set<ExactText>

        package init(schema: String, name: String, labels: [String]) {
            self.schema = schema
            self.name = name
            self.labels = Set(labels.map(ExactText.init))
        }
    }

    /// The names of all key types, for messages.
    package static let names =
        "text, varchar, smallint, integer, bigint, uuid, boolean, date, domains over these, and enum types"

    /// The type with this name in `pg_catalog`; nil if it can't be a key.
    package init?(systemName: String) {
        switch systemName {
        case "text": self = .text
        case "varchar": self = .varchar(longest: nil)
        case "int2": self = .smallint
        case "int4": self = .integer
        case "int8": self = .bigint
        case "uuid": self = .uuid
        case "bool": self = .boolean
        case "date": self = .date
        default: return nil
        }
    }

    /// The name for people.
    package var name: String {
        switch self {
        case .text: "text"
        case .varchar(nil): "character varying"
        case .varchar(let longest?): "character varying(\(longest))"
        case .smallint: "smallint"
        case .integer: "integer"
        case .bigint: "bigint"
        case .uuid: "uuid"
        case .boolean: "boolean"
        case .date: "date"
        case .enumeration(let type): "\(type.schema).\(type.name)"
        }
    }

    /// The name with its article, for sentences. The name of an enum type may have any beginning, so it comes after a word.
    var nameWithArticle: String {
        switch self {
        case .integer: "an \(name)"
        case .enumeration: "a value of \(name)"
        default: "a \(name)"
        }
    }

    /// The name as part of a statement.
    package var sql: SQL {
        switch self {
        case .enumeration(let type): "\(identifier: type.schema).\(identifier: type.name)"
        // With its length, a cast would cut off the rest of a longer text.
        case .varchar: "character varying"
        default: SQL(unsafeRaw: name)
        }
    }

    /// Whether this is `varchar`, of any length.
    var isVarchar: Bool { if case .varchar = self { true } else { false } }

    /// The canonical text of a value, with any `DateStyle` of the session.
    package func text(of value: SQL) -> SQL {
        self == .date ? "(pg_catalog.to_jsonb(\(value)) OPERATOR(pg_catalog.#>>) '{}')" : "\(value)::text"
    }

    /// Whether `key` is the canonical text of a value of this type: the text that PostgreSQL prints for it.
    func isCanonical(_ key: String) -> Bool {
        switch self {
        case .text: true
        case .varchar(let longest): longest.map { key.unicodeScalars.count <= $0 } ?? true
        case .smallint: Int16(key).map { String($0) == key } ?? false
        case .integer: Int32(key).map { String($0) == key } ?? false
        case .bigint: Int64(key).map { String($0) == key } ?? false
        case .uuid: Self.isCanonicalUUID(key)
        case .boolean: key == "true" || key == "false"
        case .date: CanonicalDate.isCanonical(key)
        case .enumeration(let type): type.labels.contains(ExactText(key))
        }
    }

    /// Whether `key` is the usual text of an integer, and this is a type of integers to which it does not belong.
    func isOutOfRange(_ key: String) -> Bool {
        switch self {
        case .smallint, .integer, .bigint: !isCanonical(key) && key.wholeMatch(of: /-?[1-9][0-9]*/) != nil
        default: false
        }
    }

    /// Whether `key` is a UUID in upper case, without hyphens or in braces, and this is the type of UUIDs.
    func isCastableUUID(_ key: String) -> Bool {
        self == .uuid && (try? /\{?([0-9A-Fa-f]{4}-?){7}[0-9A-Fa-f]{4}\}?/.wholeMatch(in: key)) != nil
    }

    /// 32 lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12.
    private static func isCanonicalUUID(_ key: String) -> Bool {
        let bytes = key.utf8
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { offset, byte in
            switch (offset, byte) {
            case (8, _), (13, _), (18, _), (23, _): byte == UInt8(ascii: "-")
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")): true
            default: false
            }
        }
    }
}
