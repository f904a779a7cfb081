import LibPQ
import Ordering

/// The function that keeps ranks from updates by others.
extension OrderObjects {
    var keepFunction: String { "brocot.\(quoteIdentifier(names.keepFunction))()" }

    /// The key columns with their types, from which ``ChangedKeys`` sees later whether a type was changed.
    private var keyTypes: String {
        let types = keys.map { Self.keyType($0.name) + quoteLiteral($0.type) }
        return "key_types CONSTANT text[] := ARRAY[\(types.joined(separator: ", "))];"
    }

    /// What precedes the type of a key column in the function.
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
