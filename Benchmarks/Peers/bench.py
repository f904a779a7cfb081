"""Compares Brocot with other ways to keep an order, and with other job queues: `make bench`, `make bench-quick`.

Each part of a run is stored in .build/bench/results, and the report is made of what is stored there. So a run may be done in parts.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from harness.machine import describe_machine
from harness.measure import at, measure, p99
from harness.server import Server
from jobs import QUEUES
from peers import PEERS
from report.page import write_report
from report.results import is_brocot
from workloads import all_workloads

RESULTS = Path(__file__).parents[2] / ".build/bench/results"


class Plan:
    """How much is measured."""

    def __init__(self, arguments):
        self.name = "quick" if arguments.quick else "full"
        self.seconds = arguments.seconds or (1 if arguments.quick else 5)
        self.jobs = 2_000 if arguments.quick else 20_000
        self._rounds = arguments.rounds
        self.single_jobs = 100 if arguments.quick else 200

    def rounds(self, workload):
        """More where commits wait for the disk, whose speed may change from one second to the next."""
        if self.name == "quick" or not workload.repeated:
            return self._rounds or 1
        return self._rounds or (5 if workload.durable else 3)


def run(arguments, plan, folder):
    chosen = [one for one in all_workloads(arguments.quick, arguments.recordings) if wanted(one.key, arguments.workloads)]
    with Server() as server:
        common = describe_machine(server) | {"plan": plan.name, "seconds": plan.seconds}
        peers = install(server, PEERS, arguments.peers) if chosen else {}
        failed = []
        for workload in chosen:
            figures = compare(workload, peers, plan)
            failed += [
                f"{key}, {workload.key}: {summary(one)}" for key, one in figures.items()
                if is_failure(key, one)]
            about = {
                "title": workload.title, "what": workload.what, "sessions": workload.sessions, "rounds": plan.rounds(workload)}
            store(folder / f"{workload.key}.json", common | about | {"peers": figures})
        if wanted("jobs", arguments.workloads):
            queues = install(server, QUEUES, arguments.peers)
            store(folder / "jobs.json", common | {"jobs": plan.jobs, "peers": compare_queues(queues, plan)})
    if failed:
        raise SystemExit("Brocot broke or went wrong, or a peer made no move at all, which is a bug:\n" + "\n".join(failed))


def is_failure(key, figures):
    """Other peers may break or go wrong at a later move. If one fails at its first move, the fault is in this benchmark."""
    if "missing" in figures:
        return False
    if is_brocot(key):
        return figures["broke"] or figures["wrong"]
    return figures["broke"] and figures["broke"]["after"] == 0


def wanted(key, patterns):
    return not patterns or any(key == pattern or key.startswith(f"{pattern}-") for pattern in patterns)


def install(server, kinds, patterns):
    """The peers, each in a database of its own, or why one is missing."""
    peers = {}
    for key, kind in kinds.items():
        if not wanted(key, patterns):
            continue
        peer = kind(key, server)
        peers[key] = peer.missing() or peer
        if peers[key] is peer:
            server.execute(f"CREATE DATABASE {peer.database}")
            peer.install()
    return peers


def compare(workload, peers, plan):
    """All peers in turn, in as many rounds as the workload needs; of each peer the round with the median speed."""
    runs = {key: [] for key, peer in peers.items() if not isinstance(peer, str)}
    for _ in range(plan.rounds(workload)):
        for key in runs:
            began = time.monotonic()
            runs[key].append(measure(peers[key], workload, plan.seconds))
            print(f"{workload.key:24} {key:21} {summary(runs[key][-1])} ({time.monotonic() - began:.1f} s)", file=sys.stderr)
    return {
        key: median(runs[key]) if key in runs else {"missing": peer}
        for key, peer in peers.items()
    }


def median(runs):
    """The run with the median speed. What went wrong in any run is kept."""
    chosen = sorted(runs, key=lambda run: run["per_second"])[len(runs) // 2]
    for name in ("broke", "wrong", "wrong_from"):
        chosen[name] = next((run[name] for run in runs if run.get(name)), None)
    chosen["deadlocks"] = max(run.get("deadlocks", 0) for run in runs)
    return chosen


def summary(figures):
    words = [f"{figures['per_second']:8,.0f}/s"]
    words += [f"{name} {figures[name] * 1000:.2f} ms" for name in ("p50", "p99", "commit") if figures[name] is not None]
    if figures.get("rows_per_move") is not None:
        words.append(f"{figures['rows_per_move']:.2f} rows, {figures['wal_per_move']:,.0f} bytes of WAL")
    if figures.get("deadlocks"):
        words.append(f"{figures['deadlocks']} deadlocks")
    if figures.get("broke"):
        words.append(f"BROKE after {figures['broke']['after']}: {figures['broke']['message']}")
    if figures.get("wrong"):
        words.append(f"WRONG ({figures.get('wrong_from')}): {figures['wrong']}")
    return ", ".join(words)


def compare_queues(queues, plan):
    return {
        key: {"missing": queue} if isinstance(queue, str) else measure_queue(queue, plan) for key, queue in queues.items()
    }


def measure_queue(queue, plan):
    # Latency first: no pending jobs, and no dead rows of done ones.
    latencies = sorted(queue.latencies(plan.single_jobs, pause=0.02))
    enqueued = timed(queue.enqueue, plan.jobs)
    drained = timed(queue.drain, plan.jobs)
    figures = {
        "enqueued_per_second": plan.jobs / enqueued, "per_second": plan.jobs / drained,
        "p50": at(latencies, 0.5), "p99": p99(latencies),
    }
    print(f"jobs {queue.key:15} {figures}", file=sys.stderr)
    return figures


def timed(function, *arguments):
    began = time.monotonic()
    function(*arguments)
    return time.monotonic() - began


def store(path, figures):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="shorter lists and runs, one round")
    parser.add_argument("--seconds", type=float, help="seconds of each run (1 if quick, else 5)")
    parser.add_argument("--rounds", type=int, help="rounds of each workload (1 if quick, else up to 5)")
    parser.add_argument("--recordings", help="a folder with recordings of editing; without one they are left out")
    parser.add_argument("--workloads", nargs="*", help="only those of these names, such as sessions-1, or sessions for all; jobs is one too")
    parser.add_argument("--peers", nargs="*", help="only those of these names, such as brocot-now, or brocot for all")
    parser.add_argument("--into", help="the folder that gets benchmarks.md, and benchmarks/ with its plots")
    parser.add_argument("--report-only", action="store_true", help="measure nothing; make the report of what is stored")
    arguments = parser.parse_args()
    plan = Plan(arguments)
    folder = RESULTS / plan.name
    if not arguments.report_only:
        run(arguments, plan, folder)
    if arguments.into:
        write_report(folder, Path(arguments.into))


if __name__ == "__main__":
    main()
