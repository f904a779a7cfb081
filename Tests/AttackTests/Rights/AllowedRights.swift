/// The rights that each kind of role may have on each object of schema `brocot`.
///
/// A new object fails the test until a line here says who may use it.
enum AllowedRights {
    /// Privileges in alphabetical order.
    typealias Row = [AttackingRole: [String]]

    static let table = """
        object | nobody | reader | requester | mover | daemon
        schema brocot |  | USAGE | USAGE | USAGE | USAGE
        table brocot.held_lists |  |  | SELECT |  | DELETE INSERT SELECT UPDATE
        table brocot.idempotency_keys |  |  | SELECT |  | DELETE SELECT
        table brocot.items |  | SELECT | SELECT | DELETE INSERT SELECT | DELETE INSERT SELECT UPDATE
        table brocot.move_log |  |  | SELECT |  | DELETE INSERT SELECT UPDATE
        table brocot.move_requests |  |  | SELECT |  | DELETE SELECT
        table brocot.ordered_tables |  | SELECT | SELECT | SELECT | SELECT
        table brocot.pending_lists |  |  | SELECT |  | SELECT
        table brocot.pending_tables |  |  | SELECT |  | SELECT
        table brocot.queue_status |  |  | SELECT |  | SELECT
        table brocot.rejections |  |  | SELECT |  | SELECT
        table brocot.rows_to_place |  |  |  |  |
        table brocot.schema_migrations |  | SELECT | SELECT | SELECT | SELECT
        table brocot.throughput |  |  | SELECT |  | SELECT
        column brocot.items.rank |  |  |  | UPDATE |
        column brocot.items.rank_den |  |  |  | UPDATE |
        column brocot.items.rank_num |  |  |  | UPDATE |
        column brocot.move_log.anchor |  |  |  | INSERT |
        column brocot.move_log.from_list |  |  |  | INSERT |
        column brocot.move_log.items |  |  |  | INSERT |
        column brocot.move_log.list |  |  |  | INSERT |
        column brocot.move_log.missing |  |  |  | INSERT |
        column brocot.move_log.ordered_table |  |  |  | INSERT |
        column brocot.move_log.placement |  |  |  | INSERT |
        column brocot.move_log.position |  |  |  | INSERT |
        column brocot.move_log.rebalanced_rows |  |  |  | INSERT |
        column brocot.move_requests.anchor |  |  | INSERT |  |
        column brocot.move_requests.from_list |  |  | INSERT |  |
        column brocot.move_requests.idempotency_key |  |  | INSERT |  |
        column brocot.move_requests.items |  |  | INSERT |  |
        column brocot.move_requests.list |  |  | INSERT |  |
        column brocot.move_requests.missing |  |  | INSERT |  |
        column brocot.move_requests.ordered_table |  |  | INSERT |  |
        column brocot.move_requests.placement |  |  | INSERT |  |
        column brocot.move_requests.position |  |  | INSERT |  |
        column brocot.ordered_tables.paused_at |  |  |  |  | UPDATE
        sequence brocot.move_requests_id_seq |  |  |  | USAGE | SELECT
        sequence brocot.sleepers |  |  | SELECT |  | SELECT UPDATE
        routine brocot.apply_directly(text,text,text[],text,text,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.apply_move(brocot.order_shape,text,text[],text,text,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.apply_pending(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.apply_request(text,text,text[],text,text,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.base_type(oid,integer) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.call_place_function(text,text,text,text,text,text,boolean,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.can_place_at_once(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.cancel(bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.change_list(brocot.order_shape,text,text,text[],bigint[],bigint[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_arguments(text,text,text[],text,text,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_isolation() |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_keys(brocot.order_shape,text[],text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_list_keys(text,text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_presence(brocot.order_shape,text,text[],boolean[],text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_registered(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.check_request(brocot.order_shape,text,text[],text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.chosen_placement(text,text,bigint,boolean,boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.count_as_asked(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.decide(brocot.move_requests,timestamp with time zone) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.drop_place_functions(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.enqueue(text,text,text[],text,text,bigint,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.enqueue_call(text,text,text[],boolean,text,text,text,bigint,boolean,boolean,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.error_code(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.error_code(text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.expect_rows(brocot.order_shape,bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.forget_refusal(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.insert_rows(brocot.order_shape,text,text[],bigint[],bigint[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.is_at_place(brocot.order_shape,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.is_canonical(text[],text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.is_in_order(numeric[],numeric,numeric) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.is_placed_as_asked(brocot.order_shape) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.is_plain_key(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.item_at(text,text,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.keys_are_1_to_1024_bytes(text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.keys_are_distinct(text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.limit_row_waits() |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.list_is_in_key(brocot.order_shape) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.list_key(text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.list_lock_key(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.lock_lists(anycompatiblearray,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.lock_pending_lists(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.look_up(brocot.order_shape) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.make_place_functions(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.make_position_function(text,brocot.order_shape,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.make_room(brocot.order_shape,text,numeric,numeric,integer,numeric[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.make_take_function(text,brocot.order_shape,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move(bigint,anycompatible,anycompatible,anycompatible,bigint,boolean,boolean,bigint,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move(text,anycompatible,anycompatible,anycompatible,bigint,boolean,boolean,text,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move(uuid,anycompatible,anycompatible,anycompatible,bigint,boolean,boolean,uuid,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_items(bigint,anycompatiblearray,anycompatible,anycompatible,bigint,boolean,boolean,bigint,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_items(text,anycompatiblearray,anycompatible,anycompatible,bigint,boolean,boolean,text,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_items(uuid,anycompatiblearray,anycompatible,anycompatible,bigint,boolean,boolean,uuid,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_items_now(bigint,anycompatiblearray,anycompatible,anycompatible,bigint,boolean,boolean,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_items_now(text,anycompatiblearray,anycompatible,anycompatible,bigint,boolean,boolean,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_items_now(uuid,anycompatiblearray,anycompatible,anycompatible,bigint,boolean,boolean,uuid,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_now(bigint,anycompatible,anycompatible,anycompatible,bigint,boolean,boolean,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_now(text,anycompatible,anycompatible,anycompatible,bigint,boolean,boolean,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_now(uuid,anycompatible,anycompatible,anycompatible,bigint,boolean,boolean,uuid,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.move_single(text,text,text,text,text,bigint,boolean,boolean,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.neighbour(brocot.order_shape,text,boolean,numeric,numeric[],bigint,boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.next_request_id() |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.order_shape(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.pending_of_list(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.place_arriving(text,text[],text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.pause(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.place_items(brocot.order_shape,text,text[],text,text,bigint,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.place_single(text,text,text,boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.places(brocot.order_shape,text,text[],boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.plain_signature(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.raise_invalid_key(text,text,text,integer) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.raise_rejection(text,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.rank_between(bigint,bigint,bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.rank_of(bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.rank_spread(integer,bigint,bigint,bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.ranks_one_after_the_other(integer,bigint,bigint,bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.ranks_of(bigint[],bigint[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.read_gap(brocot.order_shape,text,text,bigint,bigint,bigint,numeric,numeric[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.read_rows(brocot.order_shape,text,text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.reject_pending(bigint,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.release(text,text,boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove(bigint,anycompatible,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove(text,anycompatible,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove(uuid,anycompatible,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_items(bigint,anycompatiblearray,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_items(text,anycompatiblearray,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_items(uuid,anycompatiblearray,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_items_now(bigint,anycompatiblearray,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_items_now(text,anycompatiblearray,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_items_now(uuid,anycompatiblearray,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_now(bigint,anycompatible,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_now(text,anycompatible,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_now(uuid,anycompatible,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.remove_single(text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.request_status(bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.resume(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.retry(bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.simplest_between(bigint,bigint,bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.simplest_in_cells(integer,bigint,bigint,bigint,bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.single_item(text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.single_placement(text,text,text,boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.single_row(text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.skip_duplicate_request() |  |  |  |  |
        routine brocot.take_out(brocot.order_shape,text,text[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.take_single(text,text,text,text,boolean) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.visible_neighbour(brocot.order_shape,text,boolean,numeric,numeric[],bigint) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.wait_for(bigint,interval,text,text,text) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.wake_sleeping_daemons() |  |  |  |  |
        routine brocot.window_ranks(text[],numeric[],bigint,bigint,text[],numeric[],bigint,bigint,integer,integer) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.window_side(brocot.order_shape,text,boolean,numeric,numeric[],integer) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.write_placement(brocot.order_shape,text,text[],boolean[],text,bigint[],bigint[],text[],bigint[],bigint[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        routine brocot.write_ranks(brocot.order_shape,text,text[],bigint[],bigint[]) |  | EXECUTE | EXECUTE | EXECUTE | EXECUTE
        type brocot.order_shape |  | USAGE | USAGE | USAGE | USAGE
        type brocot.rank_columns |  |  |  |  |
        type brocot.valid_rank |  |  |  |  |
        type brocot.well_formed_request |  |  |  |  |
        """

    struct BadLine: Error {
        let line: String
    }

    static func parse(_ table: String) throws -> [String: Row] {
        let lines = table.split(separator: "\n").map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).map { cell in
                cell.split(separator: " ").joined(separator: " ")
            }
        }
        let kinds = lines[0].dropFirst().compactMap(AttackingRole.init(rawValue:))
        var rows: [String: Row] = [:]
        for cells in lines.dropFirst() {
            guard cells.count == kinds.count + 1, rows[cells[0]] == nil else {
                throw BadLine(line: cells.joined(separator: "|"))
            }
            let privileges = cells.dropFirst().map { $0.split(separator: " ").map(String.init) }
            rows[cells[0]] = Row(uniqueKeysWithValues: zip(kinds, privileges))
        }
        return rows
    }

    /// A line of the table.
    static func line(_ object: String, _ row: Row) -> String {
        ([object] + AttackingRole.allCases.map { row[$0, default: []].joined(separator: " ") }).joined(separator: " | ")
    }
}
