import LibPQ
import Ordering

/// The function that requests places for rows without a rank: for the rows that a statement inserted, in their order; or for the one row
/// that an UPDATE put into another list.
extension OrderObjects {
    var arriveFunction: String { "brocot.\(quoteIdentifier(names.arriveFunction))()" }

    /// Few rows of one list, the usual case, become one request without a sort.
    var arriveBody: String {
        let parts: [String?] = [
            returnIfRowIsOwn("NEW"), returnIfTriggerIsForeign, returnIfRowsArePlaced,
            returnIfTableIsChanged("NEW"), requestForUpdatedRow,
            requestForOneList, requestsByList,
        ]
        return """

            BEGIN
            \(parts.compactMap(\.self).joined(separator: "\n"))
                RETURN NULL;
            END

            """
    }

    var arrive: TriggerFunction {
        TriggerFunction(
            name: names.arriveFunction, body: arriveBody,
            comment: "Asks for new rows of \(names.orderedTable) to be placed, for triggers that brocot attach makes.",
            isSecurityDefiner: true,
            settings: ["search_path = pg_catalog, pg_temp", "DateStyle = 'ISO'", "quote_all_identifiers = off"])
    }

    // MARK: When no places are requested

    /// Returns from a trigger that has no transition table `arriving`. The table's owner may make such a trigger. Then
    /// the name `arriving` could mean a temporary view of the session's role, and the function would run its code. A transition table hides all
    /// relations that are named without a schema.
    private var returnIfTriggerIsForeign: String {
        """
            IF to_regclass('pg_temp.arriving') IS NOT NULL\(lists.isEmpty ? "" : " AND TG_OP <> 'UPDATE'") THEN
                IF NOT EXISTS (
                    SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = TG_RELID AND tgname = TG_NAME AND tgnewtable = 'arriving')
                THEN
                    RETURN NEW;
                END IF;
            END IF;
        """
    }

    /// Returns if the function that places rows at once has placed these rows: it fires first, and sets this setting.
    /// nil if the order has no such function.
    private var returnIfRowsArePlaced: String? {
        guard definition.arriveNow else { return nil }
        return """
                IF current_setting(\(placedSetting), true) = 'yes' THEN
                    PERFORM set_config(\(placedSetting), '', true);
                    RETURN NEW;
                END IF;
            """
    }

    // MARK: Requests

    private var orderedTable: String { quoteLiteral(names.orderedTable) }

    /// nil if the whole table is one list, which no UPDATE changes.
    private var requestForUpdatedRow: String? {
        guard !lists.isEmpty else { return nil }
        return """
                IF TG_OP = 'UPDATE' THEN
                    INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
                    SELECT \(orderedTable), keyed.list, ARRAY[keyed.item], 'arrive'
                    FROM (SELECT \(listKey(of: "NEW")) AS list, \(itemKey(of: "NEW")) AS item) AS keyed
                    WHERE \(fitsIntoRequest);
                    RETURN NEW;
                END IF;
            """
    }

    /// Reads one more row than fits into a request. So the statement knows whether all rows fit. A key is there twice
    /// if a trigger replaced a row that the statement inserted before. It counts once, at its last place.
    private var requestForOneList: String {
        let id =
            drawsIDs
            ? (column: "id, ", clause: "OVERRIDING SYSTEM VALUE", value: "brocot.next_request_id(), ")
            : (column: "", clause: "", value: "")
        return """
                INSERT INTO brocot.move_requests (\(id.column)ordered_table, list, items, placement) \(id.clause)
                SELECT \(id.value)\(orderedTable), (\(onlyList.value))::text, array_agg(first.item)::text[], 'arrive'
                FROM (
                    SELECT keyed.list, keyed.item
                    FROM (SELECT \(comparableList.value) AS list, \(comparableItem.value) AS item FROM arriving WHERE \(isUnplaced)) AS keyed
                    WHERE \(fitsComparably) LIMIT \(Move.mostItems + 1)
                ) AS first
                HAVING cardinality(array_agg(first.item)) <= \(Move.mostItems) AND \(onlyList.condition);
                IF FOUND THEN
                    RETURN NULL;
                END IF;
            """
    }

    /// The list of the rows in `first`, and the condition that all of them are in this list. Minimum and maximum of
    /// numbers take less time than an array.
    private var onlyList: (value: String, condition: String) {
        ["pg_catalog.int2", "pg_catalog.int4", "pg_catalog.int8"].contains(comparableList.type)
            ? ("min(first.list)", "min(first.list) = max(first.list)")
            : ("(array_agg(first.list))[1]", "(array_agg(first.list))[1] = ALL (array_agg(first.list))")
    }

    /// One or several requests for each list, as many as its items need.
    private var requestsByList: String {
        """
            INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
            SELECT \(orderedTable), keyed.list, array_agg(keyed.item ORDER BY keyed.number), 'arrive'
            FROM (
                SELECT named.list, named.item, max(named.number) AS number,
                    row_number() OVER (PARTITION BY named.list ORDER BY max(named.number)) AS place
                FROM (
                    SELECT \(listKey(of: "arriving")) AS list, \(itemKey(of: "arriving")) AS item, row_number() OVER () AS number
                    FROM arriving WHERE \(isUnplaced)
                ) AS named
                GROUP BY named.list, named.item
            ) AS keyed
            WHERE \(fitsIntoRequest)
            GROUP BY keyed.list, (keyed.place - 1) / \(Move.mostItems)
            ORDER BY min(keyed.number)\(definition.arrive == .first ? " DESC" : "");
        """
    }

    // MARK: The arriving rows

    /// Whether a row of the statement is in a list, and has no rank yet.
    private var isUnplaced: String {
        let isInList = lists.map { " AND arriving.\(quoteIdentifier($0.name)) IS NOT NULL" }.joined()
        return "arriving.\(rankColumns[0]) IS NULL\(isInList)"
    }

    // Keys that are too long for a request are left out, so that no statement of the user fails.
    private static let listFits = "octet_length(keyed.list) <= \(Move.longestKey)"
    private static let itemFits = "octet_length(keyed.item) BETWEEN 1 AND \(Move.longestKey)"

    private var fitsIntoRequest: String { "\(Self.listFits) AND \(Self.itemFits)" }

    /// The same for ``comparableList`` and ``comparableItem``: only texts may be too long. An item may be NULL if somebody has dropped the
    /// NOT NULL of its column.
    private var fitsComparably: String {
        let item = comparableItem.type == "text" ? Self.itemFits : "keyed.item IS NOT NULL"
        return comparableList.type == "text" && !lists.isEmpty ? "\(Self.listFits) AND \(item)" : item
    }

    /// A value as an expression, and its type.
    private typealias TypedValue = (value: String, type: String)

    private var comparableList: TypedValue {
        lists.count == 1 ? comparable(lists[0]) : (value: listKey(of: "arriving"), type: "text")
    }

    private var comparableItem: TypedValue { comparable(keys[keys.count - 1]) }

    /// A key for comparisons and arrays: numbers and UUIDs are themselves, which is faster than their texts.
    private func comparable(_ column: TableDescription.Column) -> TypedValue {
        switch column.type {
        case "pg_catalog.int2", "pg_catalog.int4", "pg_catalog.int8", "pg_catalog.uuid":
            (value: "arriving.\(quoteIdentifier(column.name))", type: column.type)
        default: (value: text(column, of: "arriving"), type: "text")
        }
    }

    // MARK: The texts of keys

    /// The text is made by the type's output function or a built-in cast. A user's cast for a user's type would run with the rights of
    /// the function's owner; and a domain may get another type later.
    private func text(_ column: TableDescription.Column, of row: String) -> String {
        let value = "\(row).\(quoteIdentifier(column.name))"
        if column.type.hasPrefix("pg_catalog.") {
            return column.keyType == .date ? "to_jsonb(\(value)) #>> '{}'" : "\(value)::text"
        }
        return column.keyType == .boolean
            ? "CASE format('%s', \(value)) WHEN 't' THEN 'true' WHEN 'f' THEN 'false' END"
            : "CASE WHEN \(value) IS NOT NULL THEN format('%s', \(value)) END"
    }

    private func itemKey(of row: String) -> String { text(keys[keys.count - 1], of: row) }

    private func listKey(of row: String) -> String {
        let texts = lists.map { text($0, of: row) }
        return switch texts.count {
        case 0: "''::text"
        case 1: texts[0]
        // The columns may have different collations.
        default: "brocot.list_key(\(texts.map { "(\($0)) COLLATE \"C\"" }.joined(separator: ", ")))"
        }
    }
}
