"""What Brocot is worse at: every figure in which another peer is better than one of Brocot's ways, by a tenth or more."""

from peers import PEERS

from .results import is_brocot, is_right, milliseconds, number, title
from .tables import table

# A smaller difference may be chance.
NOTEWORTHY = 1.1

WAYS = [key for key in PEERS if is_brocot(key)]
WORKLOADS = ("sessions", "random", "one-spot", "zigzag", "prepend", "recorded")
# Of each figure: its heading, its name, whether more is better, how it is printed, and which workloads it is compared in: all that
# have it. Only the size of a filled list is the same in all workloads with lists of that length. The size after the moves is not
# compared, since a fast peer has made more of them.
FIGURES = [
    ("Moves a second", "per_second", True, number, WORKLOADS),
    ("Median time until others see a move, ms", "p50", False, milliseconds, WORKLOADS),
    ("99th percentile of the time until others see a move, ms", "p99", False, milliseconds, WORKLOADS),
    ("Pages of 50 items read a second, after the moves", "pages_per_second", True, number, WORKLOADS),
    ("Rows written for each move, in all tables", "all_rows_per_move", False, number, WORKLOADS),
    ("Bytes of write-ahead log for each move", "wal_per_move", False, number, WORKLOADS),
    ("Bytes of a row with its indexes, in a filled list", "bytes_per_row", False, number, ("random",)),
]
JOB_FIGURES = [
    ("Jobs done a second", "per_second", True, number), ("Jobs added a second", "enqueued_per_second", True, number),
    ("Median time to the end of a single job, ms", "p50", False, milliseconds),
    ("99th percentile of the time to the end of a single job, ms", "p99", False, milliseconds),
]


def worse(results):
    """A table for each figure, of the workloads in which another peer is better."""
    parts = [
        "The tables contain every workload in which another peer is better than one of Brocot's ways by a tenth or more. **Bold** is what is "
        "worse, and how many times. The best other peer is the best one that was right in this workload; * marks those that went wrong or "
        "broke in another one."]
    failed = _failed(results)
    for heading, name, more_is_better, say, beginnings in FIGURES:
        compared = [
            row for workload in results.workloads(*beginnings)
            if (row := _row(workload["title"], workload["peers"], WAYS, name, more_is_better, say, failed))]
        parts.append(_part(heading, compared, WAYS))
    if stored := results.jobs():
        compared = [
            row for heading, name, more_is_better, say in JOB_FIGURES
            if (row := _row(heading, stored["peers"], ["brocot"], name, more_is_better, say, failed))]
        parts.append(_part("As a job queue", compared, ["brocot"]))
    return "\n\n".join(parts)


def _part(heading, compared, ways):
    rows = [cells for cells, is_worse in compared if is_worse]
    if not rows:
        return f"**{heading}**: not worse in {f'any of {len(compared)} comparisons' if len(compared) > 1 else 'the only comparison'}."
    names = [title(key).removeprefix("Brocot, ") for key in ways]
    return f"**{heading}**: worse in {len(rows)} of {len(compared)} comparisons.\n\n" + table(["", "best other peer", *names], rows)


def _failed(results):
    return {
        key for workload in results.workloads(*WORKLOADS) for key, figures in workload["peers"].items()
        if "missing" not in figures and not is_right(figures)}


def _row(heading, peers, ways, name, more_is_better, say, failed):
    """The best other peer and Brocot's ways, and whether it is better than one of them; None if there is nothing to compare."""
    others = {
        key: figures[name] for key, figures in peers.items() if not is_brocot(key) and is_right(figures) and figures.get(name)}
    if not others or not any(peers.get(key, {}).get(name) for key in ways):
        return None
    best = (max if more_is_better else min)(others, key=others.get)
    cells, is_worse = [], False
    for key in ways:
        value = peers.get(key, {}).get(name)
        ratio = 0 if not value else others[best] / value if more_is_better else value / others[best]
        is_worse = is_worse or ratio >= NOTEWORTHY
        cells.append(f"**{say(value)}** ({ratio:{'.1f' if ratio < 100 else ',.0f'}} times)" if ratio >= NOTEWORTHY else say(value))
    return [heading, f"{say(others[best])} {title(best)}{'*' if best in failed else ''}", *cells], is_worse
