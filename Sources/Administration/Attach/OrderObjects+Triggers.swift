import LibPQ
import Ordering

/// The triggers, which call the functions for statements that are not Brocot's.
extension OrderObjects {
    /// The statements by the triggers' names. An existing trigger is replaced.
    var triggers: [String: String] {
        // A trigger or foreign key of the user that Brocot's statement fires runs at a greater depth than this statement.
        let isOthers = """
            (current_setting('brocot.writing', true) IS DISTINCT FROM \(quoteLiteral(names.orderedTable)) \
            OR pg_trigger_depth()::text <> coalesce(nullif(current_setting('brocot.writing_depth', true), ''), '0'))
            """
        let changesRank = rankColumns.map { "OLD.\($0) IS DISTINCT FROM NEW.\($0)" }.joined(separator: " OR ")
        let changes = changesList("OLD", "NEW")
        var triggers = [
            names.keepTrigger: """
            BEFORE UPDATE ON \(table) FOR EACH ROW
            WHEN ((\(lists.isEmpty ? changesRank : "\(changes) OR \(changesRank)")) AND \(isOthers))
            EXECUTE FUNCTION \(keepFunction)
            """
        ]
        if definition.arrive != .none {
            triggers[names.insertTrigger] = """
                AFTER INSERT ON \(table) REFERENCING NEW TABLE AS arriving FOR EACH STATEMENT
                WHEN (\(isOthers)) EXECUTE FUNCTION \(arriveFunction)
                """
            // No AFTER UPDATE trigger fires for a row that changes partitions.
            let isPlacedNow = definition.arriveNow && !isPartitioned
            func afterChange(_ function: String) -> String {
                """
                \(isPlacedNow ? "AFTER" : "BEFORE") UPDATE ON \(table) FOR EACH ROW
                WHEN ((\(changes)) AND \(isOthers)) EXECUTE FUNCTION \(function)
                """
            }
            if !lists.isEmpty { triggers[names.changeTrigger] = afterChange(arriveFunction) }
            if !lists.isEmpty && isPlacedNow { triggers[names.changeNowTrigger] = afterChange(placeFunction) }
            if definition.arriveNow {
                triggers[names.insertNowTrigger] = """
                    AFTER INSERT ON \(table) REFERENCING NEW TABLE AS arriving FOR EACH STATEMENT
                    WHEN (\(isOthers)) EXECUTE FUNCTION \(placeFunction)
                    """
            }
        }
        return triggers.reduce(into: [:]) { statements, trigger in
            statements[trigger.key] = "CREATE OR REPLACE TRIGGER \(quoteIdentifier(trigger.key)) \(trigger.value)"
        }
    }
}
