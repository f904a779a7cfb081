import Ordering

extension AttachPlan {
    /// Notes about the table's triggers for the person who attaches it.
    package var notes: [String] {
        laterTriggers.map {
            """
            Trigger \($0) fires after Brocot's triggers. If it changes the list of a row, the row keeps its rank, and the \
            unique index may refuse the row. Give the trigger a name that sorts before \(definition.names.keepTrigger).
            """
        } + (noteOnTriggersOfPlacing.map { [$0] } ?? [])
    }

    /// The triggers that fire when rows are placed; nil if none fires, or no rows are placed.
    private var noteOnTriggersOfPlacing: String? {
        switch rowsToPlace {
        case .all, .stored: break
        case .keptOrder, nil: return nil
        }
        guard !triggersOfPlacing.isEmpty else { return nil }
        return """
            Placing the rows updates each of them, which fires \(triggersOfPlacing.count == 1 ? "this trigger" : "these triggers") of \
            the table: \(triggersOfPlacing.joined(separator: ", ")). To keep updated_at as it is, see "Keeping updated_at unchanged" \
            in docs/your-own-tables.md.
            """
    }

    /// How many rows are left without a place, and how they get one; nil if there are none.
    package var noteOnUnplacedRows: String? {
        guard case .keptOrder(let count)? = rowsToPlace, count > 0 else { return nil }
        let command = definition.names.placeRowsCommand
        return "The table has an order already. \(OrderNames.adviceOnUnplaced(count, placedBy: command))"
    }
}
