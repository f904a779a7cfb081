"""Tables of the report, in Markdown."""

from .results import is_brocot, milliseconds, number, title


def table(header, rows):
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def name(key):
    return f"**{title(key)}**" if is_brocot(key) else title(key)


def rows_of(workload, cells):
    """A row for each peer. For a missing peer, the row has the reason."""
    for key, figures in workload["peers"].items():
        if "missing" in figures:
            yield [name(key), f"missing: {figures['missing']}"]
        else:
            yield [name(key), *cells(key, figures)]


def speed_table(workload):
    header = [
        "", "moves", "moves/s", "p50 ms", "p99 ms", "rows of the table", "rows of all tables", "WAL bytes", "deadlocks", "a commit, ms", "order"]
    return table(header, rows_of(workload, _speed_cells))


def _speed_cells(key, figures):
    times = [milliseconds(figures[share]) for share in ("p50", "p99")]
    if key == "brocot-daemon":
        times = [f"{time} (caller {milliseconds(figures['call_' + share])})" for time, share in zip(times, ("p50", "p99"))]
    return [
        f"{figures['moves']:,}", number(figures["per_second"]), *times, number(figures.get("rows_per_move")),
        number(figures.get("all_rows_per_move")), number(figures.get("wal_per_move")), str(figures.get("deadlocks", "–")), milliseconds(figures["commit"]), order(figures)]


def order(figures):
    if figures.get("wrong"):
        return "**wrong**" + (f" from move {figures['wrong_from']:,}" if figures.get("wrong_from") else f": {figures['wrong']}")
    if figures.get("broke"):
        return f"**broke** after {figures['broke']['after']:,}: {figures['broke']['message']}"
    return "right"


def break_table(workloads):
    """Peers by workloads: until when each was right, rows of a move, and speed."""
    notes = [
        f"- {title(key)}, {workload['title']}: {figures['broke']['message']}"
        for workload in workloads for key, figures in workload["peers"].items() if figures.get("broke")
    ]
    return _table_of_workloads(workloads, _break_cell) + ("\n\nWhat the broken ones said:\n\n" + "\n".join(notes) if notes else "")


def cost_table(workloads):
    """Peers by workloads: the time of a move, and its write-ahead log."""
    return _table_of_workloads(workloads, _cost_cell)


def _table_of_workloads(workloads, cell):
    def measured(figures):
        return "–" if figures is None else "missing" if "missing" in figures else cell(figures)

    header = [""] + [workload["title"] for workload in workloads]
    return table(header, [
        [name(key)] + [measured(workload["peers"].get(key)) for workload in workloads] for key in workloads[0]["peers"]])


def _cost_cell(figures):
    return f"{milliseconds(figures['p50'])}; {milliseconds(figures['p99'])}; {number(figures.get('wal_per_move'))}"


def _break_cell(figures):
    if figures.get("wrong"):
        until = f"**wrong from {figures['wrong_from']:,}**" if figures.get("wrong_from") else "**wrong**"
    elif figures.get("broke"):
        until = f"**broke after {figures['broke']['after']:,}**"
    else:
        until = f"{figures['moves']:,}"
    return f"{until}; {number(figures.get('rows_per_move'))} rows; {number(figures['per_second'])}/s"


def size_table(workloads):
    header = [""]
    for workload in workloads:
        items = workload["title"].rsplit(" ", 1)[-1]
        header += [f"{items} items: bytes, filled", "moved", "WAL of a move", "pages/s"]
    rows = []
    for key in workloads[0]["peers"]:
        cells = [name(key)]
        for workload in workloads:
            figures = workload["peers"].get(key, {})
            cells += [
                number(figures.get(one)) for one in ("bytes_per_row", "bytes_per_row_afterwards", "wal_per_move", "pages_per_second")]
        rows.append(cells)
    return table(header, rows)


def queue_table(stored):
    return table(
        ["", "added/s", "done/s", "p50 ms", "p99 ms"],
        rows_of(stored, lambda _, figures: [
            number(figures["enqueued_per_second"]), number(figures["per_second"]), milliseconds(figures["p50"]),
            milliseconds(figures["p99"])]))
