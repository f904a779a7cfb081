import LibPQ
import Ordering

/// The function that keeps ranks from updates by others.
extension OrderObjects {
    var keepFunction: String { "brocot.\(quoteIdentifier(names.keepFunction))()" }

    /// A declaration with the key columns and their types. ``ChangedKeys`` reads it later, to find a changed type.
    private var keyTypes: String {
        let types = keys.map { Self.keyType($0.name) + quoteLiteral($0.type) }
        return "key_types CONSTANT text[] := ARRAY[\(types.joined(separator: ", "))];"
    }

    /// The text before the type of a key column in the function.
    static func keyType(_ column: String) -> String { "\(quoteLiteral(column)), " }

    /// An UPDATE of the user changes no rank. A row that leaves its list at the same time loses its rank.
    var keepBody: String {
        let keeps = rankColumns.map { "NEW.\($0) := OLD.\($0);" }.joined(separator: " ")
        return """

            DECLARE
                \(keyTypes)
            BEGIN
            \(forgetRankIfColumnsAreRenamed)
                IF \(changesList("OLD", "NEW")) THEN
                    \(forgetRank)
                ELSE
                    \(keeps)
                END IF;
                RETURN NEW;
            END

            """
    }

    var keep: TriggerFunction {
        TriggerFunction(
            name: names.keepFunction, body: keepBody,
            comment:
                "Keeps the ranks of \(names.orderedTable) from updates by others, for a trigger that brocot attach makes.",
            settings: ["search_path = pg_catalog, pg_temp"])
    }
}
