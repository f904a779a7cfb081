"""Compares Brocot with other ways to keep an order, and with other job queues: `make bench`, `make bench-quick`."""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from harness.measure import measure
from harness.server import SETTINGS, Server
from peers import PEERS
from workloads.eight_sessions import EightSessions
from workloads.narrow import OneSpot, Prepend, Zigzag
from workloads.random_moves import RandomMoves
from workloads.recorded import recordings

RESULTS = Path(__file__).parents[2] / ".build/bench/results"


def workloads(quick, folder):
    largest = 100_000 if quick else 1_000_000
    return [
        *(RandomMoves(f"random-{items}", items) for items in (100, 10_000, largest)),
        OneSpot("one-spot"), Zigzag("zigzag"), Prepend("prepend"),
        *recordings(folder, 5_000 if quick else 50_000)[: 1 if quick else None],
        EightSessions("sessions-1", 1, 10_000), EightSessions("sessions-64", 64, 10_000),
    ]


def run(arguments):
    results = RESULTS / ("quick" if arguments.quick else "full")
    results.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in workloads(arguments.quick, arguments.recordings) if wanted(one.key, arguments.workloads)]
    with Server() as server:
        peers = install(server, [key for key in PEERS if wanted(key, arguments.peers)])
        for workload in chosen:
            figures = compare(workload, peers, arguments)
            store(results / f"{workload.key}.json", {"title": workload.title, "what": workload.what, "peers": figures})


def wanted(key, patterns):
    return not patterns or any(key.startswith(pattern) for pattern in patterns)


def install(server, keys):
    """The peers, or why one is missing."""
    peers = {}
    for key in keys:
        peer = PEERS[key](key, server)
        peers[key] = peer.missing() or peer
        if peers[key] is peer:
            server.execute(f"CREATE DATABASE {peer.database}")
            peer.install()
    return peers


def compare(workload, peers, arguments):
    """All peers in turn, in as many rounds as the workload needs; of each peer the round with the median speed."""
    rounds = 3 if workload.repeated and not arguments.quick else 1
    figures = {key: [] for key in peers}
    for number in range(rounds):
        for key, peer in peers.items():
            if isinstance(peer, str):
                continue
            began = time.monotonic()
            figures[key].append(measure(peer, workload, arguments.seconds))
            print(f"{workload.key:20} {key:22} {describe(figures[key][-1])} ({time.monotonic() - began:.1f} s)", file=sys.stderr)
    return {key: {"missing": peers[key]} if isinstance(peers[key], str) else median(runs) for key, runs in figures.items()}


def median(runs):
    """The run with the median speed. What went wrong in any run is kept."""
    chosen = sorted(runs, key=lambda run: run["per_second"])[len(runs) // 2]
    for name in ("broke", "wrong", "wrong_from"):
        chosen[name] = next((run[name] for run in runs if run.get(name)), None)
    chosen["deadlocks"] = max((run.get("deadlocks", 0) for run in runs), default=0)
    return chosen


def describe(figures):
    words = [f"{figures['per_second']:9,.0f}/s"]
    for name in ("p50", "p99"):
        if figures[name] is not None:
            words.append(f"{name} {figures[name] * 1000:.2f} ms")
    if figures.get("rows_per_move") is not None:
        words.append(f"{figures['rows_per_move']:.2f} rows, {figures['wal_per_move']:,.0f} bytes of WAL")
    if figures.get("broke"):
        words.append(f"BROKE after {figures['broke']['after']}: {figures['broke']['message']}")
    if figures.get("wrong"):
        words.append(f"WRONG ({figures.get('wrong_from')}): {figures['wrong']}")
    return ", ".join(words)


def store(path, figures):
    path.write_text(json.dumps(figures, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller lists, one round")
    parser.add_argument("--seconds", type=float, help="seconds of each run (1 if quick, else 5)")
    parser.add_argument("--recordings", help="a folder with recordings of editing; without one they are left out")
    parser.add_argument("--workloads", nargs="*", help="only those whose names begin like this")
    parser.add_argument("--peers", nargs="*", help="only those whose names begin like this")
    arguments = parser.parse_args()
    arguments.seconds = arguments.seconds or (1 if arguments.quick else 5)
    run(arguments)


if __name__ == "__main__":
    main()
