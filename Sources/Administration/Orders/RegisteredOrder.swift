import LibPQ
import Ordering

/// A row of the registry, `brocot.ordered_tables`. ``OrderedTable`` adds what the catalog tells about the columns, for moves.
package struct RegisteredOrder: Hashable, Sendable {
    /// The name in requests, such as `public.tasks`. The built-in table has the name `items`.
    package let name: String
    let definition: OrderDefinition
    /// Whether `brocot attach` has not placed all rows yet.
    let isBeingFilled: Bool
    /// Whether the functions for moves at once, which the registry names, are not there, or are those of an earlier version.
    let lacksPlaceFunction: Bool
    /// Whether the registry names functions for moves at once.
    let namesPlaceFunction: Bool

    private enum Column: Int {
        case name, schema, table, rank, listColumns, itemColumn, ownsRows, visible, arrive, arriveNow, isBeingFilled,
            lacksPlaceFunction, namesPlaceFunction
    }

    /// The rows that satisfy a condition, by name. The row is named `registered` in it.
    private static func statement(where condition: SQL) -> SQL {
        """
        SELECT registered.name, registered.schema_name, registered.table_name, registered.rank_column,
            registered.list_columns, registered.item_column, registered.owns_rows, registered.visible, registered.arrive,
            registered.arrive_now, registered.being_filled,
            registered.place_function IS NOT NULL AND NOT (
                EXISTS (
                    SELECT FROM pg_proc AS place
                    WHERE place.oid = to_regprocedure(registered.place_function || '(text,text,text,boolean)')
                        -- Functions of earlier versions did not raise an error for a row that was not written as asked.
                        AND strpos(place.prosrc, 'brocot.expect_rows(') > 0)
                AND EXISTS (
                    SELECT FROM pg_proc AS take
                    WHERE take.oid = to_regprocedure(
                            replace(registered.place_function, 'place_single', 'take_single') || '(text,text,text,text,boolean)')
                        AND (strpos(take.prosrc, 'DELETE FROM ') > 0) = registered.owns_rows)
                AND (
                    SELECT bool_and(
                        to_regprocedure(replace(registered.place_function, 'place_single', called.name) || called.arguments) IS NOT NULL)
                    FROM (VALUES
                        ('item_at', '(text,text,bigint)'), ('single_row', '(text,text)'), ('single_placement', '(text,text,text,boolean)')
                    ) AS called (name, arguments))),
            registered.place_function IS NOT NULL
        FROM brocot.ordered_tables AS registered
        WHERE \(condition)
        ORDER BY registered.name
        """
    }

    private init(_ row: Row) throws(PostgresError) {
        name = try row.decode(Column.name)
        let names = OrderNames(
            schema: try row.decode(Column.schema), table: try row.decode(Column.table),
            rank: try row.decode(Column.rank))
        definition = OrderDefinition(
            names: names, listColumns: try row.decode(Column.listColumns),
            itemColumn: try row.decode(Column.itemColumn), ownsRows: try row.decode(Column.ownsRows),
            visible: try row.decode(Column.visible),
            arrive: OrderDefinition.Arrival(rawValue: try row.decode(Column.arrive)) ?? .last,
            arriveNow: try row.decode(Column.arriveNow))
        isBeingFilled = try row.decode(Column.isBeingFilled)
        lacksPlaceFunction = try row.decode(Column.lacksPlaceFunction)
        namesPlaceFunction = try row.decode(Column.namesPlaceFunction)
    }

    /// The order with this name; nil if there is none.
    static func named(_ name: String, on connection: isolated Connection) throws(PostgresError) -> RegisteredOrder? {
        try all(where: "registered.name = \(name)", on: connection).first
    }

    /// The orders of users' tables.
    package static func attached(on connection: isolated Connection) throws(PostgresError) -> [RegisteredOrder] {
        try all(where: isAttached, on: connection)
    }

    /// The names for which no ordered table is registered.
    package static func unregistered(
        _ names: [String], on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try connection.query(
            """
            SELECT DISTINCT wanted FROM unnest(\(names)) AS wanted
            WHERE wanted NOT IN (SELECT registered.name FROM brocot.ordered_tables AS registered) ORDER BY wanted
            """
        ).map { row throws(PostgresError) in try row.decode(0) }
    }

    /// Whether an ordered table has this name, or had it when its lists were held or paused.
    package static func isKnown(_ name: String, on connection: isolated Connection) throws(PostgresError) -> Bool {
        try connection.query(
            """
            SELECT EXISTS (SELECT FROM brocot.ordered_tables AS registered WHERE registered.name = \(name))
                OR EXISTS (SELECT FROM brocot.held_lists AS held WHERE held.ordered_table = \(name))
            """
        ).single().decode(0)
    }

    /// The orders of the partitions of a table.
    static func ofPartitions(of table: Int64, on connection: isolated Connection) throws(PostgresError)
        -> [RegisteredOrder]
    {
        try all(
            where: """
                \(SQL.registeredRelation) IN (
                    SELECT part.relid FROM pg_partition_tree(\(table)::oid::regclass) AS part WHERE part.level > 0)
                """, on: connection)
    }

    /// The orders whose rows satisfy a condition on the row `registered`, by name. The server must search `pg_catalog` first.
    static func all(where condition: SQL, on connection: isolated Connection) throws(PostgresError) -> [RegisteredOrder]
    {
        try connection.query(statement(where: condition)).map { row throws(PostgresError) in try RegisteredOrder(row) }
    }

    /// The condition that an order is of a user's table.
    static let isAttached: SQL = "registered.schema_name <> 'brocot'"

    /// Whether the order is of a user's table.
    var isOfUsersTable: Bool { definition.names.schema != "brocot" }
}
