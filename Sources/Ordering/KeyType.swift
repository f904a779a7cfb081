/// The type of a key column of an ordered table.
///
/// Requests carry keys as text. Only the canonical text of a value names it, since `01` beside `1` would be a second
/// name for one list.
package enum KeyType: String, Sendable, CaseIterable {
    case text
    case varchar = "character varying"
    case smallint
    case integer
    case bigint
    case uuid

    /// Whether `key` is what PostgreSQL prints for some value of this type.
    package func isCanonical(_ key: String) -> Bool {
        switch self {
        case .text, .varchar: true
        case .smallint: Int16(key).map { String($0) == key } ?? false
        case .integer: Int32(key).map { String($0) == key } ?? false
        case .bigint: Int64(key).map { String($0) == key } ?? false
        case .uuid: Self.isCanonicalUUID(key)
        }
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
