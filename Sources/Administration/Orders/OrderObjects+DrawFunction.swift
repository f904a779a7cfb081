import LibPQ
import Ordering

/// The function that draws the id of the request before the rows draw theirs.
///
/// After an INSERT, many programs ask `lastval()` for the new row's id: PDO's `lastInsertId()`, for instance. This
/// function returns the last number that the session drew from any sequence. If a request drew its id after the rows,
/// the program would get the request's id, and would continue with a wrong row.
extension OrderObjects {
    /// Whether a program may ask `lastval()` for the id of a row. Other tables don't get the trigger, because it takes
    /// a tenth of the time of a one-row INSERT.
    var drawsIDs: Bool { usesSequence && definition.arrive != .none }

    var drawFunction: String { "brocot.\(quoteIdentifier(names.drawFunction))()" }

    /// `brocot.next_request_id` uses the id. The lock comes first, as with every INSERT of a request: the daemon sees by it whether an id may
    /// still become visible.
    var drawBody: String {
        """

        BEGIN
            LOCK TABLE brocot.move_requests IN ROW EXCLUSIVE MODE;
            PERFORM set_config('brocot.drawn_id', nextval('brocot.move_requests_id_seq')::text, true);
            RETURN NULL;
        END

        """
    }

    var draw: TriggerFunction {
        TriggerFunction(
            name: names.drawFunction, body: drawBody,
            comment:
                "Draws the id of the request for new rows of \(names.orderedTable), for a trigger that brocot attach makes.",
            isSecurityDefiner: true, settings: ["search_path = pg_catalog, pg_temp"])
    }
}
