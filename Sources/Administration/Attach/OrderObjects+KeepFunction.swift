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

    /// A row that leaves its list loses its rank. Otherwise an UPDATE of the user changes no rank.
    ///
    /// If a list or rank column has another name now, the row loses its rank in any case: a rank that stays could be the rank of
    /// another row in the new list, and the unique index would refuse the user's statement. The constraint knows the columns by number.
    var keepBody: String {
        let forgets = rankColumns.map { "NEW.\($0) := NULL;" }.joined(separator: " ")
        let keeps = rankColumns.map { "NEW.\($0) := OLD.\($0);" }.joined(separator: " ")
        let ranks = [names.rank, names.numerator, names.denominator].map(quoteLiteral).joined(separator: ", ")
        let columns = Set(lists.map(\.name)).sorted().map(quoteLiteral).joined(separator: ", ")
        let count = Set(lists.map(\.name)).count + rankColumns.count
        return """

            DECLARE
                \(keyTypes)
            BEGIN
            \(returnIfStatementIsOwn("NEW"))
                IF (SELECT count(*) FROM pg_attribute AS stored
                    WHERE stored.attrelid = TG_RELID AND stored.attname IN (\(columns.isEmpty ? "" : "\(columns), ")\(ranks))) < \(count)
                THEN
                    RETURN jsonb_populate_record(NEW, (
                        SELECT coalesce(jsonb_object_agg(stored.attname, NULL::text), '{}')
                        FROM pg_attribute AS stored
                        WHERE stored.attrelid = TG_RELID AND stored.attnum > 0 AND NOT stored.attisdropped AND (
                            stored.attname IN (\(ranks))
                            OR stored.attnum IN (
                                SELECT unnest(found.conkey) FROM pg_constraint AS found
                                WHERE found.conrelid = TG_RELID AND found.conname = \(quoteLiteral(names.constraint))))));
                END IF;
                IF \(changesList("OLD", "NEW")) THEN
                    \(forgets)
                ELSE
                    \(keeps)
                END IF;
                RETURN NEW;
            END

            """
    }

    var createKeepFunction: [String] {
        [
            """
            CREATE OR REPLACE FUNCTION \(keepFunction) RETURNS trigger LANGUAGE plpgsql \
            SET search_path = pg_catalog, pg_temp AS \(quoteLiteral(keepBody))
            """,
            "REVOKE ALL ON FUNCTION \(keepFunction) FROM PUBLIC",
            """
            COMMENT ON FUNCTION \(keepFunction) IS \
            \(quoteLiteral("Keeps the ranks of \(names.orderedTable) from updates by others, for a trigger that brocot attach makes."))
            """,
        ]
    }
}
