"""The machine on which the benchmark ran."""

import datetime
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

from .server import SETTINGS


def describe_machine(server):
    with server.connect("postgres") as connection:
        version = connection.execute("SHOW server_version").fetchone()[0]
    return {
        "date": datetime.date.today().isoformat(),
        "revision": _revision(),
        "postgresql": version,
        "settings": SETTINGS,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
    }


def _revision():
    folder = Path(__file__).parent
    return subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())


def seconds_of_commit(server):
    """The median time of a durable commit of one row, by one session."""
    seconds = []
    with server.connect("postgres") as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS commits (number integer)")
        for number in range(20):
            began = time.perf_counter()
            connection.execute("INSERT INTO commits VALUES (%s)", [number])
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)
