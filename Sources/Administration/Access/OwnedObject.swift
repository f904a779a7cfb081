import LibPQ

/// What a role must own to have all rights that a command needs.
package enum OwnedObject: String, Sendable {
    case schema = "schema brocot"
    case registry = "brocot.ordered_tables"

    /// The role that owns the object; nil if the object is missing.
    package func owner(on connection: isolated Connection) throws(PostgresError) -> String? {
        guard let owners = try connection.query(AccessStatements.owners).first else { return nil }
        return switch self {
        case .schema: try owners.decode(0)
        case .registry: try owners.decode(1)
        }
    }
}
