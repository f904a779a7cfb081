"""Brocot: through the daemon, in the caller's transaction by SQL, and with the Swift library."""

import itertools
import os
import signal
import subprocess
import time
from pathlib import Path

from harness.deadline import end, wait_until
from harness.drive import Outcome, longest_run

from .peer import SqlPeer

BUILT = Path(__file__).parents[3] / ".build/release"
# A number of moves that is greater than a session of the library can make.
MOST_PER_SECOND = 10_000


class Brocot(SqlPeer):
    """What all three have in common: the schema, and the table brocot.items."""

    table = "brocot.items"

    def install(self):
        self.brocot("migrate", "up")
        with self.connect() as connection:
            connection.execute("CREATE VIEW in_order AS SELECT list, item, rank AS sort_key FROM brocot.items")

    def brocot(self, *arguments):
        subprocess.run([BUILT / "brocot", *arguments], check=True, env=self._environment(), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def _environment(self):
        return os.environ | {"DATABASE_URL": self.server.url(self.database)}

    def fill(self, lists, items):
        with self.connect() as connection:
            connection.execute("TRUNCATE brocot.items, brocot.move_requests, brocot.move_log")
            connection.execute(
                """INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT 'l' || l, 'i' || (l - 1) * %(items)s + position, position, 1, position
                FROM generate_series(1, %(lists)s) AS l, generate_series(0, %(items)s - 1) AS position""",
                {"lists": lists, "items": items})
            self.vacuum(connection, items)


class BrocotNow(Brocot):
    title = "Brocot, `move_now`"
    how = "`brocot.move_now`, in the caller's transaction. It logs each move, and waits for a lock of the list."
    statement = "SELECT brocot.move_now({list}, {item}, after => {anchor})"
    calls = (
        "SELECT brocot.move_now(%s, %s, after => %s)", "SELECT brocot.move_now(%s, %s, first => true)",
        "SELECT brocot.remove_now(%s, %s)")


class BrocotDaemon(Brocot):
    title = "Brocot, through the daemon"
    how = (
        "`brocot.move` inserts a request, and `brocot daemon`, with its default settings on the same machine, applies it and logs it. "
        "Moves are counted until the last one is visible, and a time is that from the time stamp of the request to that of the "
        "COMMIT with which others see it. Neither the flush of that COMMIT to disk nor the caller's round trip is in it.")
    statement = "SELECT brocot.move({list}, {item}, after => {anchor})"
    calls = (
        "SELECT brocot.move(%s, %s, after => %s)", "SELECT brocot.move(%s, %s, first => true)", "SELECT brocot.remove(%s, %s)")
    daemon = None

    def start(self):
        self.daemon = subprocess.Popen([BUILT / "brocot", "daemon"], env=self._environment(), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        # The daemon is ready when it has applied a request that changes nothing.
        with self.connect() as connection:
            request = connection.execute("SELECT brocot.remove('no list', 'no item')").fetchone()[0]
            connection.execute(f"CALL brocot.wait_for({request}, '60 seconds')")

    def settle(self):
        with self.connect() as connection:
            def is_settled():
                if self.daemon.poll() is not None:
                    raise RuntimeError("the daemon has ended")
                return not connection.execute("SELECT EXISTS (SELECT FROM brocot.move_requests)").fetchone()[0]

            wait_until("the daemon has applied all requests", is_settled)

    def stop(self):
        end(self.daemon, "the daemon", signal.SIGTERM, signal.SIGKILL)

    def visible_after(self):
        with self.connect() as connection:
            rows = connection.execute(
                """SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - requested_at)::float8,
                    extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8
                FROM brocot.move_log WHERE list <> 'no list'""").fetchall()
            rejected = connection.execute("SELECT count(*) FROM brocot.move_log WHERE outcome <> 'applied'").fetchone()[0]
        if rejected:
            raise RuntimeError(f"{rejected} requests were rejected")
        return [seconds for seconds, _ in rows], max(visible for _, visible in rows)


class BrocotLibrary(Brocot):
    title = "Brocot, Swift library"
    how = (
        "`client.place` of the Swift library, each in a transaction of its own, from a small program in Swift (`Benchmarks/LibraryMoves`). "
        "It waits for a lock of the list.")

    def run_program(self, workload, seconds):
        """Sends moves to the program, more than it can make in the given time."""
        moves = "".join(
            f"{session}\t{move.list}\t{move.item}\t{'-' if move.remove else move.anchor or ''}\n"
            for session in range(workload.sessions)
            for move in itertools.islice(workload.moves(session), int(seconds * MOST_PER_SECOND)))
        result = subprocess.run(
            [BUILT / "LibraryMoves", self.server.url(self.database), str(seconds)], input=moves, capture_output=True, text=True,
            timeout=longest_run(seconds))
        if result.returncode:
            raise RuntimeError(f"LibraryMoves failed: {result.stderr}")
        latencies = [[] for _ in range(workload.sessions)]
        for line in result.stdout.splitlines():
            session, microseconds = line.split("\t")
            latencies[int(session)].append(int(microseconds) / 1e6)
        # Each session makes one move after the other, without a pause.
        taken = max(map(sum, latencies))
        return Outcome(latencies, taken, time.time())
