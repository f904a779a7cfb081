import LibPQ
import Ordering

/// The statements that try a condition of visibility.
extension CatalogStatements {
    /// Tries a condition as the condition of an index, which must be immutable and use only columns of the table. The statements run
    /// separately, so that no part of the text can become a further statement.
    static func probe(_ condition: String, table: String) -> [SQL] {
        [
            "CREATE TEMPORARY TABLE brocot_visible (LIKE \(unsafeRaw: table))",
            "CREATE INDEX brocot_visible_index ON pg_temp.brocot_visible ((1)) WHERE (\(unsafeRaw: condition))",
        ]
    }

    /// Settings with which the server prints constants so that they mean the same in each session. They are made after the condition was
    /// read with the settings of the caller's session.
    static let printing: SQL = """
        SELECT pg_catalog.set_config('DateStyle', 'ISO', true), pg_catalog.set_config('IntervalStyle', 'postgres', true),
            pg_catalog.set_config('TimeZone', 'UTC', true),
            pg_catalog.set_config('extra_float_digits', '1', true), pg_catalog.set_config('bytea_output', 'hex', true),
            pg_catalog.set_config('standard_conforming_strings', 'on', true)
        """

    /// The columns of ``probed``.
    enum ConditionColumn: Int { case text, columns }

    /// The condition, as the server prints it if only `pg_catalog` is in the `search_path`, and the columns that it names. NULL: it is the
    /// constant true.
    static let probed: SQL = """
        SELECT pg_catalog.pg_get_expr(probe.indpred, probe.indrelid), ARRAY(
            SELECT stored.attname::text
            FROM pg_catalog.pg_depend AS named
            JOIN pg_catalog.pg_attribute AS stored ON stored.attrelid = named.refobjid AND stored.attnum = named.refobjsubid
            WHERE named.objid = probe.indexrelid AND named.refobjid = probe.indrelid)
        FROM pg_catalog.pg_index AS probe
        WHERE probe.indexrelid = 'pg_temp.brocot_visible_index'::pg_catalog.regclass
        """

    /// Fails if the condition fails for the table's rows.
    static func tryCondition(_ condition: String, of names: OrderNames) -> SQL {
        """
        SELECT (\(unsafeRaw: condition)) IS TRUE
        FROM \(names.sql) AS stored LIMIT 0
        """
    }

    /// Fails if the condition fails for one of the first `sample` rows; with nil, for any row.
    static func tryCondition(_ condition: String, forRowsOf names: OrderNames, sample: Int?) -> SQL {
        let limit: SQL = sample.map { " LIMIT \(Int64($0))" } ?? ""
        return """
            SELECT count(*) FILTER (WHERE judged.is_visible)
            FROM (SELECT (\(unsafeRaw: condition)) IS TRUE AS is_visible FROM \(names.sql) AS stored\(limit)) AS judged
            """
    }
}
