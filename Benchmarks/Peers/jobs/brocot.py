"""Brocot's requests: moves that leave the order as it is."""

import os
import signal
import subprocess
import time

from harness.deadline import end
from peers.brocot import BUILT

from .queue import JobQueue

LISTS, ITEMS = 64, 100


class BrocotJobs(JobQueue):
    title = "Brocot"
    how = (
        "Requests that put an item where it is, in 64 lists of 100: unlike an empty job, each needs a look at the list. Added with arrays. One "
        "`brocot daemon --workers 1`, and `--drain` for what is pending, with the "
        "start of its process.")

    def install(self):
        self._brocot("migrate", "up")
        with self.connect() as connection:
            connection.execute(
                """INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT 'l' || l, 'i' || i, i, 1, i FROM generate_series(0, %s - 1) AS l, generate_series(0, %s - 1) AS i""",
                [LISTS, ITEMS])
            connection.execute("VACUUM ANALYZE brocot.items")

    def _brocot(self, *arguments):
        subprocess.run([BUILT / "brocot", *arguments], check=True, env=self._environment(), capture_output=True)

    def _environment(self):
        return os.environ | {"DATABASE_URL": self.server.url(self.database)}

    def enqueue(self, number):
        with self.connect() as connection:
            for first in range(0, number, 1000):
                numbers = range(first, min(first + 1000, number))
                connection.execute(
                    """INSERT INTO brocot.move_requests (list, items, placement, anchor)
                    SELECT list, ARRAY[item], 'after', anchor
                    FROM unnest(%s::text[], %s::text[], %s::text[]) AS moves (list, item, anchor)""",
                    [
                        [f"l{n % LISTS}" for n in numbers], [f"i{n % (ITEMS - 1) + 1}" for n in numbers],
                        [f"i{n % (ITEMS - 1)}" for n in numbers],
                    ])

    def drain(self, number):
        self._brocot("daemon", "--drain", "--workers", "1")

    def latencies(self, number, pause):
        daemon = subprocess.Popen([BUILT / "brocot", "daemon", "--workers", "1"], env=self._environment(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with self.connect() as connection:
                first = connection.execute("SELECT brocot.move('l1', 'i2', after => 'i1')").fetchone()[0]
                connection.execute(f"CALL brocot.wait_for({first}, '60 seconds')")
                for _ in range(number):
                    time.sleep(pause)
                    last = connection.execute("SELECT brocot.move('l1', 'i2', after => 'i1')").fetchone()[0]
                connection.execute(f"CALL brocot.wait_for({last}, '60 seconds')")
                return [seconds for (seconds,) in connection.execute(
                    """SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - requested_at)::float8
                    FROM brocot.move_log WHERE id > %s""", [first])]
        finally:
            end(daemon, "the daemon", signal.SIGTERM, signal.SIGKILL)
