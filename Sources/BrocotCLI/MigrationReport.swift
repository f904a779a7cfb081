import FoundationEssentials
import Migrations

/// The report of `migrate status` and `migrate plan` about a database.
struct MigrationReport: Encodable {
    struct Entry: Encodable {
        let version: Int
        let name: String
        let state: String
        /// When the migration was applied, in ISO 8601; nil if it is pending.
        let appliedAt: String?
        let durationMilliseconds: Int64?
    }

    let state: String
    let databaseVersion: Int
    let latestVersion: Int
    let migrations: [Entry]

    init(_ status: MigrationStatus) {
        state = status.state.rawValue
        databaseVersion = status.databaseVersion
        latestVersion = status.latestVersion
        migrations = status.entries.map { entry in
            Entry(
                version: entry.version, name: entry.name, state: entry.state.rawValue,
                appliedAt: entry.applied.map { "\($0.appliedAt)" },
                durationMilliseconds: entry.applied.map(\.duration.milliseconds))
        }
    }

    var columns: ColumnText {
        ColumnText(
            header: ["VERSION", "NAME", "STATE", "APPLIED AT", "MS"],
            alignments: [.right, .left, .left, .left, .right],
            rows: migrations.map { entry in
                [
                    "\(entry.version)", entry.name, entry.state, entry.appliedAt ?? "",
                    entry.durationMilliseconds.map(String.init) ?? "",
                ]
            })
    }
}

/// The report of `migrate verify`.
struct VerificationReport: Encodable, CustomStringConvertible {
    struct Addition: Encodable {
        let name: String
        let owner: String
    }

    let missing: [String]
    let changed: [String]
    /// Tables of which the server's own triggers for constraints are disabled.
    let disabledTriggers: [String]
    /// Triggers, rules and policies that no migration created.
    let added: [Addition]

    init(_ comparison: SchemaComparison) {
        missing = comparison.missing
        changed = comparison.changed
        disabledTriggers = comparison.disabled
        added = comparison.added.map { Addition(name: $0.name, owner: $0.owner) }
    }

    /// One line for each addition; nil if there is none.
    var additions: String? {
        guard !added.isEmpty else { return nil }
        return
            (["The migrations did not create these objects. They run with the rights of the roles that use the table:"]
            + added.map { "  \($0.name.printable), by role \($0.owner.printable)" }).joined(separator: "\n")
    }

    var description: String {
        let faults =
            missing.map { "  missing: \($0)" } + changed.map { "  changed: \($0)" }
            + disabledTriggers.map { "  disabled: triggers of constraints of \($0.printable)" }
        var lines = ["The schema is not the one that the migrations create:"] + faults
        if !missing.isEmpty || !changed.isEmpty {
            lines.append(
                "Restore these objects; the SQL that makes them is in the directory migrations of Brocot's source.")
        }
        if !disabledTriggers.isEmpty {
            let commands = disabledTriggers.map { "ALTER TABLE \($0) ENABLE TRIGGER ALL;" }.joined(separator: " ")
            lines.append("As a superuser, enable the triggers: \(commands.printable)")
        }
        return lines.joined(separator: "\n")
    }
}
