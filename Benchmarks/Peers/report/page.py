"""Writes docs/benchmarks.md and its plots from the results that runs stored."""

import re
import shutil

from . import plots
from .claims import claims, failures
from .compare import worse
from .results import Results
from .tables import break_table, cost_table, queue_table, size_table, speed_table
from .text import COMMANDS, METHOD, machine, peers, rounds

BEGIN, END = "<!-- From docs/benchmarks.md: `make bench` writes it. -->", "<!-- The end of what `make bench` writes. -->"


def write_report(folder, into):
    """Writes `into`/benchmarks.md, `into`/benchmarks/*.svg and what the runs stored into `into`/benchmarks/data, and the README beside
    that folder where it repeats figures."""
    results = Results(folder)
    (into / "benchmarks").mkdir(parents=True, exist_ok=True)
    (into / "benchmarks.md").write_text(page(results, into / "benchmarks"))
    data = into / "benchmarks/data"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(folder, data, ignore=lambda _, names: [name for name in names if not name.endswith(".json")])
    readme = into.parent / "README.md"
    if readme.exists() and BEGIN in (text := readme.read_text()):
        block = "\n".join([BEGIN, *(f"- {claim}" for claim in claims(results)), END])
        readme.write_text(re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, text, flags=re.DOTALL))


def page(results, plots_folder):
    sections = [
        "# Benchmarks",
        "This page is for people who choose a way to keep an order in PostgreSQL, or a job queue. It compares Brocot with other ways and "
        f"queues, which do the same work in the same server. `make {results.command}` measured everything on this page and wrote it. Compare "
        "the figures only with each other: another machine gives other figures. "
        f"{rounds(results)}",
        "## In short\n\n" + "\n".join(f"- {claim}" for claim in claims(results)),
        "## What Brocot is worse at\n\n" + worse(results),
        "## What went wrong or broke\n\n" + ("\n".join(f"- {sentence}" for sentence in failures(results)) or "Nothing."),
        *eight_sessions(results, plots_folder),
        *random_moves(results, plots_folder),
        *narrow(results),
        *sizes(results, plots_folder),
        *jobs(results, plots_folder),
        "## Run it yourself\n\n" + COMMANDS,
        "## The peers\n\n" + peers(),
        "## Method\n\n" + METHOD,
        "## Machine\n\n" + machine(results),
    ]
    return "\n\n".join(sections) + "\n"


def eight_sessions(results, folder):
    workloads = results.workloads("sessions")
    if workloads:
        plots.speeds(workloads, folder / "eight-sessions.svg")
        yield "## Eight sessions at the same time"
        yield (
            "All commits wait for the disk. Through the daemon, a move counts when others can see it, and the times are until then; "
            "beside them stands how long the caller waits.")
        yield "![Moves a second of each peer](benchmarks/eight-sessions.svg)"
        yield from described_tables(workloads)


def random_moves(results, folder):
    workloads = results.workloads("random")
    if workloads:
        plots.sizes(workloads, folder / "random-moves.svg")
        yield "## Random moves, one session"
        yield "Commits do not wait for the disk, so that the work itself can be seen: that wait is the same for all."
        yield "![Moves a second of each peer by the length of the list](benchmarks/random-moves.svg)"
        yield from described_tables(workloads)


def described_tables(workloads):
    for workload in workloads:
        yield f"### {workload['title']}"
        yield f"{workload['what']}\n\n{speed_table(workload)}"


def narrow(results):
    workloads = results.workloads("one-spot", "zigzag", "prepend", "recorded")
    if workloads:
        yield "## Where it breaks"
        yield (
            "The number of moves after which a peer breaks (no further move succeeds) or goes wrong (the order is no longer that of a plain "
            "list, and nobody is told). A number without a word is how many moves were right, which is all that were tried or that fit "
            "in the time. Then: rows of the table that a move writes, and moves a second.")
        yield "\n".join(f"- **{workload['title']}.** {workload['what']}" for workload in workloads)
        yield break_table(workloads)
        yield (
            "What these moves took and wrote: half of them took at most the first number of milliseconds, and 99 of 100 at most the second. "
            "The third number is bytes of write-ahead log for each move. Through the daemon, a time is that until others can see the move.")
        yield cost_table(workloads)


def sizes(results, folder):
    workloads = results.workloads("random")
    if workloads:
        plots.log_bytes(workloads[len(workloads) // 2], folder / "wal.svg")
        yield "## What a row, a move and reading cost"
        yield (
            "Bytes of a row with all its indexes, in a list that was just filled and after the random moves; bytes of write-ahead log for "
            "each random move; pages of 50 items from a random one on that one session reads a second, after the moves and a VACUUM. Each "
            "row has a list and an item, both text, and what the peer needs for the order. The bytes after the moves can't be compared "
            "between peers: each made as many moves as it could in the time, and nothing was vacuumed meanwhile.")
        yield "![Bytes of write-ahead log for each random move](benchmarks/wal.svg)"
        yield size_table(workloads)


def jobs(results, folder):
    stored = results.jobs()
    if stored:
        plots.jobs(stored, folder / "jobs.svg")
        yield "## As a job queue"
        yield (
            f"Jobs that do nothing: {stored['jobs']:,} are added, and then done by one worker. The times are from adding a single job to "
            "its end, with a worker that waits for it.")
        yield "![Jobs a second of each queue](benchmarks/jobs.svg)"
        yield queue_table(stored)
