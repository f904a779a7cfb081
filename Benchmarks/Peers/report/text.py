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

It starts a PostgreSQL of its own in a temporary folder. Packages of Python go to `.build/bench`. pg_rational and PgQ are Debian's packages: they are
unpacked there, and not installed. A peer that can't be had is reported as missing. What parts of a run measured is kept in
`.build/bench/results`, so that a run can be done in parts."""

METHOD = """\
- **Work.** All peers get the same moves, in one server, one after the other, and make as many as they can in the time; each round begins
  with freshly filled lists. A move is "this item goes directly behind that one", as a user who drags it says. The database finds the
  neighbours, and the order is committed with each move. Each peer is one small file in `Benchmarks/Peers/peers`, and each workload one in
  `Benchmarks/Peers/workloads`.
- **A fair chance.** A peer whose move is SQL alone does it in one function, thus in one round trip, even where its library needs more.
  A library of Python runs in Python. Peers that would lose moves without one wait for a lock of the list; libraries take only their own locks.
  Each has an index of the list and its own key beside the primary key. Only Brocot's contains the item too.
- **One session.** A loop in Python with psycopg 3, or in Swift. `synchronous_commit` is off.
- **Eight sessions.** pgbench for peers whose move is SQL: it costs less than any other client, so that more of the machine is the
  server's. Eight processes for libraries of Python: threads would wait for each other. One process for Swift. A move that a deadlock ended is
  tried again. `synchronous_commit` is on.
- **Every result is checked** against a plain list, item by item, and two items at the same place are wrong too. With eight sessions each
  one moves its own items, behind others of its own or behind some that stand still and serve all. So the order of its items and of those that stand
  still must be exactly that of its own moves, however the sessions took turns. If a result is wrong, the moves run again with a comparison after
  each one, to find the first that went wrong.
- **Rows** are those that PostgreSQL's statistics count as inserted, updated or deleted. **WAL** is what the server wrote between the
  first move and the last. Meanwhile there is no checkpoint, and so no full pages, and no autovacuum.
- **A commit** says how long a durable commit of one row by one session took directly before the run. Only runs with similar commits can be
  compared: virtual machines have good and bad seconds. If there are several rounds, all peers take turns in each.
- **A statement that takes 10 s** (30 s in `make bench`) is cancelled, and its server process is killed if it ignores that.
- **p50, p99**: half of the moves took at most the first, and 99 of 100 at most the second, which is left out where there are less than 100."""


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
    """From the workload that was measured last, and what else was measured at another time."""
    jobs = results.jobs()
    part = max([part for part in results.parts() if part is not jobs] or [jobs], key=lambda part: part["date"])
    settings = ", ".join(f"`{name} = {value}`" for name, value in part["settings"].items())
    return "\n".join([
        f"- {part['processor']}, {part['cores']} cores, {part['memory'] / 2 ** 30:.0f} GiB of memory, {part['system']}. Sessions, daemon "
        "and server share it.",
        f"- PostgreSQL {part['postgresql']}, with {settings}; all other settings are its defaults.",
        f"- {part['date']}, revision {part['revision']}. Each run took {part['seconds']:g} s.",
        "- The stored figures of each run are in [benchmarks/data](benchmarks/data).",
        *(
            [f"- The job queues were measured at another time: {jobs['date']}, revision {jobs['revision']}, PostgreSQL {jobs['postgresql']}."]
            if jobs and any(jobs[name] != part[name] for name in ("date", "revision", "postgresql")) else []),
    ])
