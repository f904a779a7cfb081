import LibPQ
import Ordering

/// The SQL statements of this library.
enum LibraryStatements {
    /// Waits for the lists' locks, in the order of their keys, and returns the transaction's isolation level. It takes no
    /// lock if the snapshot may be older than the locks (REPEATABLE READ and SERIALIZABLE). It can't rely on the caller's `search_path`.
    static func lock(_ lists: some Collection<ListIdentifier>) -> SQL {
        """
        WITH keyed AS MATERIALIZED (
            SELECT DISTINCT brocot.list_lock_key(wanted.ordered_table, wanted.list) AS key
            FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.key))) AS wanted (ordered_table, list)
            WHERE pg_catalog.current_setting('transaction_isolation')
                OPERATOR(pg_catalog.=) ANY (ARRAY['read committed', 'read uncommitted'])
            ORDER BY key
        ), locked AS MATERIALIZED (
            SELECT pg_catalog.pg_advisory_xact_lock(keyed.key) FROM keyed
        )
        SELECT pg_catalog.current_setting('transaction_isolation'), (SELECT pg_catalog.count(*) FROM locked)
        """
    }

    /// Applies a move in the caller's transaction, with the functions that every client calls.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``. The transaction can continue, unless the connection is lost.
    static func apply(_ move: Move, on connection: isolated Connection) throws {
        do throws(PostgresError) {
            _ = try connection.savepoint("brocot_move", of: call(move))
        } catch {
            throw MoveFailure.of(error)
        }
    }

    /// The same in a transaction of its own, in one round trip.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``. Nothing was changed, unless its code is `commitOutcomeUnknown`.
    static func applyAlone(_ move: Move, on connection: isolated Connection) throws {
        do throws(PostgresError) {
            _ = try connection.transaction(of: call(move))
        } catch {
            throw MoveFailure.of(error)
        }
    }

    private static func call(_ move: Move) -> SQL {
        let (list, table) = (move.list.key, move.list.orderedTable)
        switch move.action {
        case .place: break
        case .remove:
            return
                "SELECT brocot.remove_items_now(\(list)::pg_catalog.text, \(move.items)::pg_catalog.text[], \(table)::pg_catalog.text)"
        case .arrive: preconditionFailure("only triggers ask for rows to arrive")
        }
        let columns = RequestColumns(move.action)
        let before = columns.placement == "before" ? columns.anchor : nil
        let after = columns.placement == "after" ? columns.anchor : nil
        let placement: SQL = """
            before => \(before as String?)::pg_catalog.text, after => \(after as String?)::pg_catalog.text, at => \(columns.position as Int?)::pg_catalog.int8,
            first => \(columns.placement == "first"), last => \(columns.placement == "last"),
            from_list => \(columns.source as String?)::pg_catalog.text, ordered_table => \(table)::pg_catalog.text,
            missing => \(move.missing.rawValue)::pg_catalog.text
            """
        // The function for one item is faster. It refuses what looks like an array.
        if move.items.count == 1, move.items[0].utf8.first != UInt8(ascii: "{") {
            return "SELECT brocot.move_now(\(list)::pg_catalog.text, \(move.items[0])::pg_catalog.text, \(placement))"
        }
        return "SELECT brocot.move_items_now(\(list)::pg_catalog.text, \(move.items)::pg_catalog.text[], \(placement))"
    }

    static func enqueue(_ move: Move, idempotencyKey: String?) -> SQL {
        let columns = RequestColumns(move.action)
        return """
            SELECT brocot.enqueue(
                \(move.list.orderedTable), \(move.list.key), \(move.items), \(columns.placement), \(columns.anchor as String?),
                \(columns.position as Int?), \(columns.source as String?), \(move.missing.rawValue),
                \(idempotencyKey as String?))
            """
    }

    /// The columns of ``outcome(of:)``.
    enum OutcomeColumn: Int { case status, errorCode, error, sqlState, rebalancedRows }

    /// The outcome of a request, read in one snapshot; no row if the request is unknown.
    static func outcome(of request: Int64) -> SQL {
        """
        SELECT found.status, found.error_code, found.error, logged.sqlstate, coalesce(logged.rebalanced_rows, 0)
        FROM brocot.request_status(\(request)) AS found
        LEFT JOIN brocot.move_log AS logged ON logged.id OPERATOR(pg_catalog.=) \(request)
        """
    }

    static let schemaExists: SQL = """
        SELECT EXISTS (
            SELECT FROM pg_catalog.pg_class AS relation
            JOIN pg_catalog.pg_namespace AS schema ON schema.oid = relation.relnamespace
            WHERE schema.nspname = 'brocot' AND relation.relname = 'move_requests')
        """
}
