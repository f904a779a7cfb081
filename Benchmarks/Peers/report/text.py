"""The parts of the report that no figure changes, and the machine."""

from jobs import QUEUES
from peers import PEERS

from .results import milliseconds

COMMANDS = """\
```sh
make bench-quick                                  # under five minutes; the page and its plots go to .build/bench/report
make bench-quick RECORDINGS=folder                # with recorded editing: files *.json.gz of josephg/editing-traces, sequential_traces
make bench-quick ARGUMENTS="--workloads sessions jobs --peers brocot double-midpoint procrastinate"
make bench RECORDINGS=folder                      # an hour; the page and its plots go to docs, and the first section into the README
```

Each command starts a PostgreSQL server of its own in a temporary folder. Packages of Python go to `.build/bench`. pg_rational and PgQ are Debian's
packages: they are unpacked there, and not installed. The report names a peer as missing if its package isn't available. The results are kept in
`.build/bench/results`, so that a run can be done in parts."""

METHOD = """\
- **Work.** All peers get the same moves, in one server, one peer after the other. Each makes as many moves as it can in the given time, and
  each round begins with freshly filled lists. A move puts an item directly behind another item, as when a user drags it. The database finds the
  neighbours, and the order is committed with each move. Each peer is one small file in `Benchmarks/Peers/peers`, and each workload one in
  `Benchmarks/Peers/workloads`.
- **A fair chance.** A peer whose move is SQL alone does it in one function, and so in one round trip, even if its library needs more.
  A library of Python runs in Python. A peer that would lose moves without a lock of the list waits for such a lock. Libraries take only their own
  locks. Each peer has the primary key and an index of the list and its sort key. Only Brocot's index contains the item too.
- **One session.** A loop in Python with psycopg 3, or in Swift. `synchronous_commit` is off.
- **Eight sessions.** pgbench for peers whose move is SQL: it costs less than any other client, and leaves more of the machine to the
  server. Eight processes for libraries of Python, because threads would wait for each other. One process for Swift. A move that a deadlock ended is
  tried again. `synchronous_commit` is on.
- **Every result is checked** against a plain list, item by item. Two items at the same place are wrong too. With eight sessions, each session
  moves its own items: behind other items of its own, or behind items that no session moves. So a session's items and the items that no session moves
  must be exactly in the order that this session's moves give, in whatever order the sessions ran. If a result is wrong, the moves run again with a
  comparison after each one, to find the first move that went wrong.
- **Rows** are the rows that PostgreSQL's statistics count as inserted, updated or deleted. **WAL** is the write-ahead log between the
  first move and the last. In this time there is no checkpoint, and so no full-page image, and no autovacuum.
- **A commit** is the time of a durable commit of one row by one session, directly before the run. Compare only runs with similar commits,
  because the speed of a virtual machine changes. If there are several rounds, all peers take turns in each.
- **A statement that takes 10 s** (30 s in `make bench`) is cancelled, and its server process is killed if it ignores that.
- **p50, p99**: half of the moves took at most the time p50, and 99 of 100 at most the time p99. With fewer than 100 moves, p99 is left out."""


def peers():
    lines = [f"- **{kind.title}.** {kind.how}" for kind in PEERS.values()]
    lines += ["", "Job queues:", ""]
    lines += [f"- **{kind.title}.** {kind.how}" for kind in QUEUES.values()]
    return "\n".join(lines)


def rounds(results):
    """From how many rounds the figures are."""
    repeated = results.workloads("sessions", "random")
    counts = sorted({part["rounds"] for part in repeated})
    if not repeated:
        return "Each figure is from one round."
    if counts != [1]:
        return (
            f"Eight sessions and random moves had {' or '.join(map(str, counts))} rounds, and a figure is from the round with the median speed. "
            "All other figures are from one round.")
    commits = [figures["commit"] for part in repeated for figures in part["peers"].values() if "commit" in figures]
    return (
        "Each figure is from one round, and single rounds differ: before the runs of eight sessions and of random moves a durable commit took "
        f"{milliseconds(min(commits))} to {milliseconds(max(commits))} ms.")


def machine(results):
    """From the workload that was measured last, and when each workload was measured."""
    part = max(results.parts(), key=lambda part: part["date"])
    settings = ", ".join(f"`{name} = {value}`" for name, value in part["settings"].items())
    return "\n".join([
        f"- {part['processor']}, {part['cores']} cores, {part['memory'] / 2 ** 30:.0f} GiB of memory, {part['system']}. Sessions, daemon "
        "and server share it.",
        f"- PostgreSQL {part['postgresql']}, with {settings}; all other settings are its defaults.",
        *measurements(results.parts()),
        f"- Each run took {part['seconds']:g} s. The stored figures of each run are in [benchmarks/data](benchmarks/data).",
    ])


def measurements(parts):
    """When the workloads were measured, and with which revision and server, the last ones first. Compare only figures of one workload."""
    titles = {}
    for part in parts:
        titles.setdefault((part["date"], part["revision"], part["postgresql"]), []).append(part.get("title", "job queues"))
    if len(titles) == 1:
        return [f"- {date}, revision {revision}." for date, revision, _ in titles]
    return [
        f"- {date}, revision {revision}, PostgreSQL {server.split()[0]}: {'; '.join(sorted(titles[date, revision, server]))}."
        for date, revision, server in sorted(titles, reverse=True)
    ]
