import LibPQ
import Ordering

/// The SQL of the objects that make a table an ordered table. All names in it are qualified or in `pg_catalog`.
struct OrderObjects {
    let definition: OrderDefinition
    /// The list columns, then the item column.
    let keys: [TableDescription.Column]
    private let isPartitioned: Bool

    var names: OrderNames { definition.names }
    var lists: [TableDescription.Column] { keys.dropLast() }

    /// - Parameters:
    ///   - definition: the order.
    ///   - keys: the list columns and then the item column, as the catalog has them.
    ///   - isPartitioned: whether rows may change partitions.
    init(_ definition: OrderDefinition, keys: [TableDescription.Column], isPartitioned: Bool) {
        self.definition = definition
        self.keys = keys
        self.isPartitioned = isPartitioned
    }

    /// The table, quoted.
    var table: String { "\(quoteIdentifier(names.schema)).\(quoteIdentifier(names.table))" }

    var rankColumns: [String] { [names.rank, names.numerator, names.denominator].map(quoteIdentifier) }

    // MARK: Columns and their constraint

    static let rankColumnTypes = ["numeric", "bigint", "bigint"]

    var constraint: String { "CONSTRAINT \(quoteIdentifier(names.constraint)) CHECK (\(condition))" }

    /// Either all three are NULL, or the pair is a fraction in lowest terms within bounds and the rank is its value. The
    /// denominator is compared with 0 before the division.
    var condition: String {
        let (rank, num, den) = (rankColumns[0], rankColumns[1], rankColumns[2])
        return """
            CASE \
            WHEN \(rank) IS NULL OR \(num) IS NULL OR \(den) IS NULL \
            THEN \(rank) IS NULL AND \(num) IS NULL AND \(den) IS NULL \
            WHEN \(den) < 1 THEN false \
            ELSE \(num) > -4611686018427387904 AND \(num) < 4611686018427387904 AND \(den) < 4611686018427387904 \
            AND gcd(\(num), \(den)) = 1 \
            AND \(rank) = \(num)::numeric(57,38) / \(den)::numeric AND scale(\(rank)) = min_scale(\(rank)) END
            """
    }

    // MARK: The index

    func index(on relation: TableDescription.Relation) -> String {
        let columns = definition.listColumns.map(quoteIdentifier) + [rankColumns[0]]
        let how = relation.isPartitioned ? ("", "ONLY ") : ("CONCURRENTLY ", "")
        return """
            CREATE UNIQUE INDEX \(how.0)\(quoteIdentifier(names.index(on: relation.name))) ON \(how.1)\
            \(quoteIdentifier(relation.schema)).\(quoteIdentifier(relation.name)) (\(columns.joined(separator: ", ")))
            """
    }

    // MARK: Functions

    var keepFunction: String { "brocot.\(quoteIdentifier(names.keepFunction))()" }
    var arriveFunction: String { "brocot.\(quoteIdentifier(names.arriveFunction))()" }

    /// Whether a key column or rank column was renamed or changed. Then no places are requested, so that no statement of the user fails.
    /// All names are qualified, because one of the functions runs with the caller's `search_path`. The catalog is read without
    /// `to_regclass`, which raises an error for a schema that the function's role may not use.
    var isChanged: String {
        let equals = "OPERATOR(pg_catalog.=)"
        let columns =
            keys.map {
                """
                stored.attname \(equals) \(quoteLiteral($0.name)) \
                AND \(isOfType($0.type))
                """
            }
            + [names.rank, names.numerator, names.denominator].map { "stored.attname \(equals) \(quoteLiteral($0))" }
        let wanted = Set(keys.map(\.name)).count + 3
        return """
            (SELECT space.nspname \(equals) \(quoteLiteral(names.schema)) AND relation.relname \(equals) \(quoteLiteral(names.table))
                    FROM pg_catalog.pg_class AS relation
                    JOIN pg_catalog.pg_namespace AS space ON space.oid \(equals) relation.relnamespace
                    WHERE relation.oid \(equals) coalesce(pg_catalog.pg_partition_root(TG_RELID), TG_RELID)) IS NOT TRUE
                    OR (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS stored
                        WHERE stored.attrelid \(equals) TG_RELID AND (\(columns.joined(separator: " OR ")))) OPERATOR(pg_catalog.<) \(wanted)
            """
    }

    /// Whether the column `stored` of the catalog has this type.
    private func isOfType(_ type: String) -> String {
        if type.hasPrefix("pg_catalog.") {
            return "stored.atttypid OPERATOR(pg_catalog.=) \(quoteLiteral(type))::pg_catalog.regtype"
        }
        return """
            EXISTS (SELECT FROM pg_catalog.pg_type AS type \
            JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) type.typnamespace \
            WHERE type.oid OPERATOR(pg_catalog.=) stored.atttypid \
            AND pg_catalog.format('%I.%I', space.nspname, type.typname) OPERATOR(pg_catalog.=) \(quoteLiteral(type)))
            """
    }

    private func changesList(_ old: String, _ new: String) -> String {
        lists.isEmpty
            ? "false"
            : lists.map { "\(old).\(quoteIdentifier($0.name)) IS DISTINCT FROM \(new).\(quoteIdentifier($0.name))" }
                .joined(separator: " OR ")
    }

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

    /// Requests places for rows without a rank: for the rows that a statement inserted, in their order and with up to 10,000 items in
    /// each request; or for the one row that an UPDATE put into another list. Keys that are too long for a request are
    /// left out. Few rows of one list, the usual case, become one request without a sort.
    var arriveBody: String {
        let isAsked = "octet_length(keyed.list) <= 1024 AND octet_length(keyed.item) BETWEEN 1 AND 1024"
        let name = quoteLiteral(names.orderedTable)
        let isInList = lists.map { " AND arriving.\(quoteIdentifier($0.name)) IS NOT NULL" }.joined()
        let isUnplaced = "arriving.\(rankColumns[0]) IS NULL\(isInList)"
        let changes =
            lists.isEmpty
            ? ""
            : """

                IF TG_OP = 'UPDATE' THEN
                    INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
                    SELECT \(name), keyed.list, ARRAY[keyed.item], 'arrive'
                    FROM (SELECT \(listKey(of: "NEW")) AS list, \(itemKey(of: "NEW")) AS item) AS keyed
                    WHERE \(isAsked);
                    RETURN NEW;
                END IF;
            """
        let arePlaced =
            definition.arriveNow
            ? """

                IF current_setting('brocot.placed', true) = \(name) THEN
                    PERFORM set_config('brocot.placed', '', true);
                    RETURN NEW;
                END IF;
            """ : ""
        // Without a transition table, a trigger that the table's owner makes would read a view of the session's role as `arriving`.
        let isForeignTrigger = """
            to_regclass('pg_temp.arriving') IS NOT NULL\(lists.isEmpty ? "" : " AND TG_OP <> 'UPDATE'") AND NOT EXISTS (
                    SELECT FROM pg_trigger WHERE tgrelid = TG_RELID AND tgname = TG_NAME AND tgnewtable = 'arriving')
            """
        let listValue = lists.count == 1 ? value(lists[0], of: "arriving") : (listKey(of: "arriving"), type: "text")
        let itemValue = value(keys[keys.count - 1], of: "arriving")
        return """

            DECLARE
                lists \(listValue.type)[];
                items text[];
            BEGIN
                IF \(isForeignTrigger)
                THEN
                    RETURN NEW;
                END IF;\(arePlaced)
                IF \(isChanged) THEN
                    RETURN NEW;
                END IF;\(changes)
                SELECT array_agg(first.list), array_agg(first.item)::text[] INTO lists, items
                FROM (
                    SELECT keyed.list, keyed.item
                    FROM (SELECT \(listValue.0) AS list, \(itemValue.0) AS item FROM arriving WHERE \(isUnplaced)) AS keyed
                    \(lengthCondition(list: listValue.type, item: itemValue.type))LIMIT 10001
                ) AS first;
                -- A trigger may have replaced a row that the statement inserted before, so that a key is there twice.
                IF cardinality(items) <= 10000 AND lists[1] = ALL (lists) AND brocot.keys_are_distinct(items) THEN
                    INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
                    VALUES (\(name), lists[1]::text, items, 'arrive');
                    RETURN NULL;
                END IF;
                INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
                SELECT \(name), keyed.list, array_agg(keyed.item ORDER BY keyed.number), 'arrive'
                FROM (
                    SELECT named.list, named.item, row_number() OVER (ORDER BY max(named.number)) AS number
                    FROM (
                        SELECT \(listKey(of: "arriving")) AS list, \(itemKey(of: "arriving")) AS item, row_number() OVER () AS number
                        FROM arriving WHERE \(isUnplaced)
                    ) AS named
                    GROUP BY named.list, named.item
                ) AS keyed
                WHERE \(isAsked)
                GROUP BY keyed.list, (keyed.number - 1) / 10000
                ORDER BY min(keyed.number)\(definition.arrive == .first ? " DESC" : "");
                RETURN NULL;
            END

            """
    }

    /// A key for comparisons and arrays, and its type there: numbers and UUIDs are themselves, which is faster than their texts.
    private func value(_ column: TableDescription.Column, of row: String) -> (String, type: String) {
        switch column.type {
        case "pg_catalog.int2", "pg_catalog.int4", "pg_catalog.int8", "pg_catalog.uuid":
            ("\(row).\(quoteIdentifier(column.name))", type: column.type)
        default: (text(column, of: row), type: "text")
        }
    }

    /// Only texts may be too long for a request.
    private func lengthCondition(list: String, item: String) -> String {
        let conditions =
            (list == "text" && !lists.isEmpty ? ["octet_length(keyed.list) <= 1024"] : [])
            + (item == "text" ? ["octet_length(keyed.item) BETWEEN 1 AND 1024"] : [])
        return conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) "
    }

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

    /// Not all roles may execute the functions: a role that makes a trigger with one could request moves with the owner's rights.
    var createFunctions: [String] {
        var statements = [
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
        if definition.arrive != .none {
            statements += [
                """
                CREATE OR REPLACE FUNCTION \(arriveFunction) RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER \
                SET search_path = pg_catalog, pg_temp SET DateStyle = 'ISO' AS \(quoteLiteral(arriveBody))
                """,
                "REVOKE ALL ON FUNCTION \(arriveFunction) FROM PUBLIC",
                """
                COMMENT ON FUNCTION \(arriveFunction) IS \
                \(quoteLiteral("Asks for new rows of \(names.orderedTable) to be placed, for triggers that brocot attach makes."))
                """,
            ]
        }
        if definition.arriveNow { statements += createPlaceFunction }
        return statements
    }

    var functionBodies: [String: String] {
        var bodies = [names.keepFunction: keepBody]
        if definition.arrive != .none { bodies[names.arriveFunction] = arriveBody }
        if definition.arriveNow { bodies[names.placeFunction] = placeBody }
        return bodies
    }

    // MARK: Triggers

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
