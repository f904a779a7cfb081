import LibPQ
import Ordering

/// The triggers, which call the functions.
///
/// PostgreSQL parses a trigger's condition again for each statement that may fire the trigger. So an UPDATE of other columns meets only
/// two short conditions. Whether a statement is Brocot's own is a condition only of the trigger that would otherwise fire for each
/// row that Brocot moves. The functions test it for the other triggers.
extension OrderObjects {
    /// What comes after the name in the statement that creates a trigger, by the triggers' names.
    var triggers: [String: String] {
        // 4 and 4.0 are equal, but the constraint admits only the first form.
        let changesScale =
            "pg_catalog.scale(OLD.\(rankColumns[0])) IS DISTINCT FROM pg_catalog.scale(NEW.\(rankColumns[0]))"
        let changesRank = (rankColumns.map { "OLD.\($0) IS DISTINCT FROM NEW.\($0)" } + [changesScale]).joined(
            separator: " OR ")
        var triggers = [
            names.keepTrigger: """
            BEFORE UPDATE OF \(rankColumns.joined(separator: ", ")) ON \(table) FOR EACH ROW
            WHEN ((\(changesRank)) AND (\(isOwnStatement(depth: "pg_catalog.pg_trigger_depth()"))) IS NOT TRUE)
            EXECUTE FUNCTION \(keepFunction)
            """
        ]
        if !lists.isEmpty {
            triggers[names.leaveTrigger] = """
                BEFORE UPDATE ON \(table) FOR EACH ROW
                WHEN (\(changesList("OLD", "NEW"))) EXECUTE FUNCTION \(leaveFunction)
                """
        }
        return triggers.merging(placingTriggers) { _, placing in placing }
    }

    /// Whether the table has this trigger, it fires, and it is what attach creates.
    func isPresent(_ trigger: TableDescription.Trigger?, as name: String) -> Bool {
        guard let trigger, trigger.isEnabled, let wanted = triggers[name] else { return false }
        return DefinitionText.areEqual(trigger.definition, "CREATE TRIGGER \(quoteIdentifier(name)) \(wanted)")
    }

    /// Whether a row whose list was changed is placed at once. No AFTER UPDATE trigger fires for a row that changes partitions.
    private var changedRowsArePlacedNow: Bool { definition.arriveNow && !isPartitioned }

    /// The triggers that request places, or place rows at once.
    private var placingTriggers: [String: String] {
        guard definition.arrive != .none else { return [:] }
        func afterInsert(_ function: String) -> String {
            """
            AFTER INSERT ON \(table) REFERENCING NEW TABLE AS arriving FOR EACH STATEMENT EXECUTE FUNCTION \(function)
            """
        }
        // The triggers before this one have taken the row's rank.
        func afterChange(_ function: String) -> String {
            """
            \(changedRowsArePlacedNow ? "AFTER" : "BEFORE") UPDATE ON \(table) FOR EACH ROW
            WHEN ((\(changesList("OLD", "NEW"))) AND NEW.\(rankColumns[0]) IS NULL) EXECUTE FUNCTION \(function)
            """
        }
        var triggers = [names.insertTrigger: afterInsert(arriveFunction)]
        if drawsIDs {
            triggers[names.drawTrigger] =
                "BEFORE INSERT ON \(table) FOR EACH STATEMENT EXECUTE FUNCTION \(drawFunction)"
        }
        if !lists.isEmpty { triggers[names.requestTrigger] = afterChange(arriveFunction) }
        if !lists.isEmpty && changedRowsArePlacedNow { triggers[names.changeNowTrigger] = afterChange(placeFunction) }
        if definition.arriveNow { triggers[names.insertNowTrigger] = afterInsert(placeFunction) }
        return triggers
    }

    // MARK: Brocot's own statements

    /// Returns from a trigger function if the statement is Brocot's own.
    func returnIfStatementIsOwn(_ result: String) -> String {
        """
            IF \(isOwnStatement(depth: Self.depthOfStatement)) THEN
                RETURN \(result);
            END IF;
        """
    }

    /// The same for a trigger function that places rows without a rank.
    ///
    /// What a foreign key with ON UPDATE CASCADE updates within Brocot's statement is not Brocot's. But its AFTER triggers run at the depth of
    /// Brocot's statement, because the server postpones them to the end of that statement. Brocot takes the rank of a row before it
    /// leaves the row without a rank in another list; a foreign key does not.
    func returnIfRowIsOwn(_ result: String) -> String {
        """
            IF \(isOwnStatement(depth: Self.depthOfStatement)) THEN
                IF TG_OP OPERATOR(pg_catalog.<>) 'UPDATE' THEN
                    RETURN \(result);
                ELSIF OLD.\(rankColumns[0]) IS NULL THEN
                    RETURN \(result);
                END IF;
            END IF;
        """
    }

    /// The depth of the statement that fires a trigger function. Within the function, the depth counts the function too.
    private static let depthOfStatement = "(pg_catalog.pg_trigger_depth() OPERATOR(pg_catalog.-) 1)"

    /// Whether the settings say that Brocot writes this order, at this depth of triggers: a trigger or foreign key of the user that
    /// Brocot's statement fires runs at a greater depth.
    private func isOwnStatement(depth: String) -> String {
        """
        pg_catalog.current_setting('brocot.writing', true) OPERATOR(pg_catalog.=) \(quoteLiteral(names.orderedTable)) \
        AND \(depth)::pg_catalog.text OPERATOR(pg_catalog.=) \
        (CASE WHEN pg_catalog.current_setting('brocot.writing_depth', true) OPERATOR(pg_catalog.<>) '' \
        THEN pg_catalog.current_setting('brocot.writing_depth', true) ELSE '0' END)
        """
    }
}
