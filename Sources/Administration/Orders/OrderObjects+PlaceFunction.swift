import LibPQ
import Ordering

/// The function that places arriving rows at once. It runs with the rights and the `search_path` of the role that inserts them,
/// because the user's triggers fire within it.
extension OrderObjects {
    var placeFunction: String { "brocot.\(quoteIdentifier(names.placeFunction))()" }

    /// The setting that tells the trigger which requests places that the rows have one. Each order has its own: triggers of another order
    /// may fire in between.
    var placedSetting: String { quoteLiteral(names.placedSetting) }

    /// The function leaves the rows that it can't place to the triggers that request places.
    var placeBody: String {
        let name = quoteLiteral(names.orderedTable)
        let isInList = lists.map { " AND arriving.\(quoteIdentifier($0.name)) IS NOT NULL" }.joined()
        return """

            DECLARE
                lists pg_catalog.text[];
                items pg_catalog.text[];
            BEGIN
            \(returnIfRowIsOwn("NULL"))
                PERFORM pg_catalog.set_config(\(placedSetting), '', true);
            \(returnIfTableIsChanged("NULL"))
                IF NOT pg_catalog.has_schema_privilege('brocot', 'USAGE') THEN
                    RETURN NULL;
                ELSIF NOT brocot.can_place_at_once(\(name)) THEN
                    RETURN NULL;
                END IF;
                IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
                    lists := ARRAY[\(listKeyAsCaller(of: "NEW"))];
                    items := ARRAY[\(textAsCaller(keys[keys.count - 1], of: "NEW"))];
                ELSE
                    SELECT pg_catalog.array_agg(keyed.list ORDER BY keyed.number), pg_catalog.array_agg(keyed.item ORDER BY keyed.number)
                    INTO lists, items
                    FROM (
                        SELECT \(listKeyAsCaller(of: "arriving")) AS list, \(textAsCaller(keys[keys.count - 1], of: "arriving")) AS item,
                            pg_catalog.row_number() OVER () AS number
                        FROM arriving WHERE arriving.\(rankColumns[0]) IS NULL\(isInList)
                    ) AS keyed;
                END IF;
                IF brocot.place_arriving(\(name), lists, items) THEN
                    PERFORM pg_catalog.set_config(\(placedSetting), 'yes', true);
                END IF;
                RETURN NULL;
            END

            """
    }

    var place: TriggerFunction {
        TriggerFunction(
            name: names.placeFunction, body: placeBody,
            comment: "Places new rows of \(names.orderedTable) at once, for triggers that brocot attach makes.")
    }

    /// The text of a key, made in the same way as in `brocot.move_now`.
    private func textAsCaller(_ column: TableDescription.Column, of row: String) -> String {
        "(pg_catalog.to_jsonb(\(row).\(quoteIdentifier(column.name))) OPERATOR(pg_catalog.#>>) '{}')"
    }

    private func listKeyAsCaller(of row: String) -> String {
        "brocot.list_key(\(lists.isEmpty ? "VARIADIC '{}'" : lists.map { textAsCaller($0, of: row) }.joined(separator: ", ")))"
    }
}
