import Ordering

extension OrderNames {
    /// The command that detaches this order, for messages.
    package var detachCommand: String {
        let name = title.quotedForShell
        return "brocot detach \(name)\(rank == Self.usualRankColumn ? "" : " --rank \(rank.quotedForShell)")"
    }

    /// The command that repairs faults of this order, for messages.
    var repairCommand: String { "brocot check --repair --table \(orderedTable.quotedForShell)" }

    /// The command that asks the daemon to place all rows without a place, for messages.
    package var placeRowsCommand: String {
        "brocot check --repair --place-rows --table \(orderedTable.quotedForShell)"
    }

    /// A sentence without its full stop: how many rows have no place.
    static func descriptionOfUnplaced(_ count: Int) -> String {
        "\(count == 1 ? "1 row is in a list but has" : "\(count) rows are in a list but have") no place"
    }

    /// The same, with the reasons and with the command that places the rows.
    static func adviceOnUnplaced(_ count: Int, placedBy command: String) -> String {
        "\(descriptionOfUnplaced(count)) (new, removed from the order, or never placed). To place all of them: \(command)"
    }

    /// How the triggers of another order are removed from the table with these names.
    var adviceToDropTriggers: String {
        """
        Drop \(title), or give it an order of its own and remove that: brocot attach \(title.quotedForShell) with the \
        same options, and then \(detachCommand)
        """
    }

    /// A reason of ``AttachError/refused(_:)`` without the name of the table at its beginning.
    func withoutTable(_ reason: String) -> String {
        let prefix = "\(title): "
        return reason.hasPrefix(prefix) ? String(reason.dropFirst(prefix.count)) : reason
    }
}
