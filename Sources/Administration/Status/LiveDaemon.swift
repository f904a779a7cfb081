import LibPQ

/// A daemon that is connected to the database now.
package struct LiveDaemon: Sendable, Encodable {
    package let version: String
    package let user: String
    /// The process identifier, on the server, of the session that the daemon keeps.
    package let pid: Int
    /// When that session began, in ISO 8601; nil if the current role may not see it.
    package let since: String?

    /// All connected daemons, the oldest first. A daemon behind a pooler in transaction mode may be missing.
    package static func all(on connection: isolated Connection) throws(PostgresError) -> [LiveDaemon] {
        try connection.query(StatusStatements.liveDaemons).map { row throws(PostgresError) in
            LiveDaemon(
                version: try row.decode(0), user: try row.decode(1), pid: try row.decode(2),
                since: try row.decode(3, as: Timestamp?.self).map { "\($0)" })
        }
    }

    /// The number of daemons, with version and start of each: `2: 0.1.0 since …, 0.1.0 since …`.
    package static func summary(of daemons: [LiveDaemon]) -> String {
        let each = daemons.map { daemon in
            "version \(daemon.version)\(daemon.since.map { " since \($0)" } ?? "")"
        }
        return "\(daemons.count): \(each.joined(separator: ", "))"
    }
}
