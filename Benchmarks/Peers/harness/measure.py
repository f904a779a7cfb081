"""One peer on one workload: speed, rows, bytes, and whether the resulting order is right."""

import itertools
import re
import time

from .drive import drive, longest_statement, pgbench, run_moves
from .machine import seconds_of_commit
from .moves import filled


def measure(peer, workload, seconds):
    """The figures of one run, as they are stored."""
    peer.server.execute("CHECKPOINT")
    peer.fill(workload.lists, workload.items)
    figures = {"bytes_per_row": _bytes_per_row(peer), "commit": seconds_of_commit(peer.server)}
    before = _counters(peer)
    peer.server.execute(f"ALTER DATABASE {peer.database} SET synchronous_commit = {'on' if workload.durable else 'off'}")
    peer.server.execute(f"ALTER DATABASE {peer.database} SET statement_timeout = '{longest_statement(seconds)}s'")
    peer.start()
    try:
        outcome = drive(peer, workload, seconds)
        peer.settle()
    finally:
        peer.stop()
        peer.server.execute(f"ALTER DATABASE {peer.database} RESET ALL")
    figures |= _speed(peer, outcome)
    if not outcome.killed:
        figures |= _cost(peer, before, outcome.moves)
    figures["bytes_per_row_afterwards"] = _bytes_per_row(peer)
    figures["wrong"] = _wrong(peer, workload, outcome)
    if workload.is_read:
        figures["pages_per_second"] = _pages_per_second(peer, workload, seconds)
    if outcome.broke:
        figures["broke"] = {"after": outcome.moves, "message": outcome.broke}
    if figures["wrong"] and workload.sessions == 1:
        figures["wrong_from"] = _first_wrong_move(peer, workload, outcome.moves)
    return figures


def _speed(peer, outcome):
    calls = sorted(itertools.chain.from_iterable(outcome.latencies))
    figures = {"moves": outcome.moves, "seconds": outcome.seconds, "call_p50": at(calls, 0.5), "call_p99": p99(calls)}
    visible = peer.visible_after() if calls else None
    if visible:
        times, last = sorted(visible[0]), visible[1]
        figures["seconds"] = outcome.seconds + max(0, last - outcome.finished)
        figures |= {"p50": at(times, 0.5), "p99": p99(times)}
    else:
        figures |= {"p50": figures["call_p50"], "p99": figures["call_p99"]}
    figures["per_second"] = outcome.moves / figures["seconds"] if figures["seconds"] else 0
    return figures


def at(values, share):
    """The value at a share of sorted values."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def p99(values):
    """The 99th percentile of sorted values. It is None for fewer than 100 values, because it would be the largest value."""
    return at(values, 0.99) if len(values) >= 100 else None


def _counters(peer):
    # A session adds its writes to the statistics when it ends.
    time.sleep(0.1)
    with peer.connect() as connection:
        log = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0]
        rows = dict(connection.execute(
            "SELECT relid::regclass::text, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables").fetchall())
        deadlocks = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()[0]
    return int(log), rows, deadlocks


def _cost(peer, before, moves):
    log, rows, deadlocks = _counters(peer)
    table = peer.table
    written = {name: count - before[1].get(name, 0) for name, count in rows.items()}
    return {
        "wal_per_move": (log - before[0]) / moves if moves else None,
        "rows_per_move": written[table] / moves if moves else None,
        "all_rows_per_move": sum(written.values()) / moves if moves else None,
        "deadlocks": deadlocks - before[2],
    }


def _bytes_per_row(peer):
    with peer.connect() as connection:
        size, rows = connection.execute(
            f"SELECT pg_total_relation_size('{peer.table}'), (SELECT count(*) FROM {peer.table})").fetchone()
    return size / rows if rows else None


def _pages_per_second(peer, workload, seconds):
    """Pages of 50 items from a random one on, read by one session after the moves."""
    script = """\\set item random(0, :items - 1)
        SELECT item FROM in_order
        WHERE list = 'l1' AND sort_key > (SELECT sort_key FROM in_order WHERE list = 'l1' AND item = 'i' || :item)
        ORDER BY sort_key LIMIT 50;"""
    with peer.connect() as connection:
        connection.execute(f"VACUUM ANALYZE {peer.table}")
    result = pgbench(peer, script, {"items": workload.items}, 1, seconds)
    return float(re.search(r"tps = ([\d.]+)", result.stdout)[1])


def _wrong(peer, workload, outcome):
    """What is wrong with the first list whose order is wrong. It is None if all lists are right."""
    return _compare(peer, workload, [len(latencies) for latencies in outcome.latencies])


def _compare(peer, workload, counts):
    expected = filled(workload.lists, workload.items)
    if workload.sessions == 1:
        for move in itertools.islice(workload.moves(0), counts[0]):
            expected[move.list].apply(move)
        return _difference_of_all(peer, {name: plain.order() for name, plain in expected.items()})
    # What the other sessions move does not change the order of a session's own items and of those that stand still.
    own = [workload.own(session) for session in range(workload.sessions)]
    for session, count in enumerate(counts):
        for move in itertools.islice(workload.moves(session), count):
            own[session][move.list].apply(move)
    for name in expected:
        rows = peer.order(name)
        for session, lists in enumerate(own):
            order = lists[name].order()
            members = set(order)
            difference = _difference(order, [row for row in rows if row[0] in members]) or _same_place(rows)
            if difference:
                return f"session {session + 1}, list {name}: {difference}"
    return None


def _difference_of_all(peer, expected):
    for name, order in expected.items():
        rows = peer.order(name)
        difference = _difference(order, rows) or _same_place(rows)
        if difference:
            return f"list {name}: {difference}"
    return None


def _difference(order, rows):
    found = [item for item, _ in rows]
    if order == found:
        return None
    if len(order) != len(found):
        return f"{len(found)} items instead of {len(order)}"
    wrong = sum(one != other for one, other in zip(order, found))
    return f"{wrong} of {len(order)} items are not where they belong"


def _same_place(rows):
    tied = sum(1 for _, same in rows if same)
    return f"{tied} items have the same place as another one" if tied else None


def _first_wrong_move(peer, workload, moves, seconds=60):
    """The number of the move after which the order is wrong, in a run that compares after each move; None: not found in time."""
    peer.fill(workload.lists, workload.items)
    expected = filled(workload.lists, workload.items)
    deadline, session = time.monotonic() + seconds, peer.session()
    try:
        for number, move in enumerate(itertools.islice(workload.moves(0), moves), 1):
            run_moves(session, [move], seconds)
            expected[move.list].apply(move)
            if _difference_of_all(peer, {move.list: expected[move.list].order()}):
                return number
            if time.monotonic() > deadline:
                return None
    finally:
        session.close()
    return None
