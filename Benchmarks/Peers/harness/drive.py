"""Runs a workload's moves on a peer, by one session or by eight, and measures each move."""

import multiprocessing
import queue
import re
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from .server import program


def longest_statement(seconds):
    """A statement that takes longer is cancelled, and a server process that ignores that is killed."""
    return max(10, round(6 * seconds))


def longest_run(seconds):
    """The longest time of a run of several sessions: its last statements may be killed, and then the server recovers."""
    return seconds + 2 * longest_statement(seconds) + 300


@dataclass
class Outcome:
    """The result of the moves: the seconds of each move that succeeded, by session, and the error of the first move that failed."""

    latencies: list[list[float]]
    seconds: float
    finished: float
    broke: str | None = None
    killed: bool = False

    @property
    def moves(self):
        return sum(map(len, self.latencies))


def drive(peer, workload, seconds):
    if hasattr(peer, "run_program"):
        return peer.run_program(workload, seconds)
    if workload.sessions == 1:
        return _one_session(peer, workload, seconds)
    # At that time each session has ended, unless a statement of it can't be cancelled.
    watchdog = Watchdog(peer, longest_statement(seconds), pause=seconds)
    watchdog.begin()
    try:
        outcome = _pgbench(peer, workload, seconds) if peer.statement else _processes(peer, workload, seconds)
    finally:
        watchdog.stop()
    if watchdog.killed:
        outcome.broke, outcome.killed = watchdog.message, True
    return outcome


def run_moves(session, moves, seconds, progress=None):
    """The latencies of the moves that succeeded, and the message of the first that failed. A deadlock is tried again."""
    latencies, deadline = [], time.perf_counter() + seconds
    for move in moves:
        began = time.perf_counter()
        if began > deadline:
            break
        while True:
            try:
                if progress:
                    progress.begin()
                if move.remove:
                    session.remove(move.list, move.item)
                else:
                    session.place(move.list, move.item, move.anchor)
                break
            except Exception as error:
                if not _is_deadlock(error):
                    return latencies, _message(error)
        latencies.append(time.perf_counter() - began)
    if progress:
        progress.end()
    return latencies, None


def _is_deadlock(error):
    return any(isinstance(one, psycopg.errors.DeadlockDetected) for one in (error, error.__cause__))


def _message(error):
    return str(error).strip().split("\n")[0] or type(error).__name__


def _one_session(peer, workload, seconds):
    session = peer.session()
    watchdog = Watchdog(peer, longest_statement(seconds))
    start = time.time()
    latencies, broke = run_moves(session, workload.moves(0), seconds, watchdog)
    finished = time.time()
    watchdog.stop()
    if watchdog.killed:
        broke = watchdog.message
    else:
        session.close()
    return Outcome([latencies], sum(latencies) if broke else finished - start, finished, broke, watchdog.killed)


class Watchdog(threading.Thread):
    """Kills the server process of a call that never ends: no time-out and no cancellation interrupts some code in C.

    It looks for one when the longest time of a statement has passed since `begin`, and `pause` before."""

    def __init__(self, peer, longest, pause=0):
        super().__init__(daemon=True)
        self.longest, self.killed = longest, False
        self.message = f"no answer in {longest} s and no reaction to a cancellation: the server process had to be killed"
        self._peer, self._pause, self._began = peer, pause, None
        self._ended = threading.Event()
        self.start()

    def begin(self):
        self._began = time.monotonic()

    def end(self):
        self._began = None

    def stop(self):
        self._ended.set()
        self.join()

    def run(self):
        while not self._ended.wait(0.5):
            if self._began and time.monotonic() - self._began > self._pause + self.longest + 3:
                with self._peer.server.connect("postgres") as connection:
                    found = connection.execute(
                        """SELECT pid FROM pg_stat_activity WHERE datname = %s AND state = 'active'
                        AND backend_type = 'client backend' AND query_start < now() - make_interval(secs => %s)""",
                        [self._peer.database, self.longest + 2]).fetchone()
                if found:
                    self.killed = True
                    # The server then ends all other sessions too.
                    self._peer.server.kill(found[0])
                    return


_OTHER_FAILED = "not all sessions began"


def _processes(peer, workload, seconds):
    """For libraries of Python. Each session is a process, because threads would wait for each other in the interpreter."""
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(workload.sessions), context.Queue()

    def work(number):
        # Each process must send an answer, because the parent process waits for it.
        latencies, broke, start = [], None, time.time()
        try:
            session = peer.session()
            barrier.wait(60)
            start = time.time()
            latencies, broke = run_moves(session, workload.moves(number), seconds)
        except threading.BrokenBarrierError:
            broke = _OTHER_FAILED
        except Exception as error:
            barrier.abort()
            broke = _message(error)
        results.put((number, latencies, broke, start, time.time()))

    processes = [context.Process(target=work, args=[number], daemon=True) for number in range(workload.sessions)]
    for process in processes:
        process.start()
    answers = sorted(_answers(results, len(processes), longest_run(seconds)))
    for process in processes:
        process.join()
    start, finished = min(answer[3] for answer in answers), max(answer[4] for answer in answers)
    broke = min((answer[2] for answer in answers if answer[2]), key=lambda message: message == _OTHER_FAILED, default=None)
    return Outcome([answer[1] for answer in answers], finished - start, finished, broke)


def _answers(results, number, seconds):
    deadline = time.monotonic() + seconds
    for arrived in range(number):
        try:
            yield results.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError(f"not within {seconds} s: the last {number - arrived} of {number} sessions have ended") from None


def pgbench(peer, script, variables, sessions, seconds, *options):
    """Runs a script of pgbench in a peer's database."""
    words = [word for pair in variables.items() for word in ("-D", "{}={}".format(*pair))]
    return subprocess.run(
        [program("pgbench"), "-n", "-M", "prepared", "-c", str(sessions), "-j", str(min(2, sessions)), "-T", str(max(1, round(seconds))),
         "-f", "-", *words, *options, peer.server.url(peer.database)], input=script, capture_output=True, text=True,
        timeout=longest_run(seconds))


def _pgbench(peer, workload, seconds):
    """For peers whose move is SQL. pgbench costs less than Python, so more of the machine is the server's."""
    statement = peer.statement.format(list="'l' || :list", item="'i' || :item", anchor="'i' || :anchor")
    script = workload.pgbench_script.format(statement=statement)
    with tempfile.TemporaryDirectory(prefix="brocot-bench-") as folder:
        result = pgbench(
            peer, script, workload.pgbench_variables, workload.sessions, seconds, "--max-tries=1000", "-l", f"--log-prefix={folder}/log")
        latencies = [[] for _ in range(workload.sessions)]
        start, finished = float("inf"), 0
        for log in Path(folder).glob("log.*"):
            for line in log.read_text().splitlines():
                session, _, microseconds, _, second, fraction = line.split()[:6]
                # A deadlock that ended a move after the time was over.
                if microseconds == "failed":
                    continue
                end = int(second) + int(fraction) / 1e6
                start, finished = min(start, end - int(microseconds) / 1e6), max(finished, end)
                latencies[int(session)].append(int(microseconds) / 1e6)
    if result.returncode not in (0, 2) or not any(latencies):
        raise RuntimeError(f"pgbench failed: {result.stderr}")
    aborted = re.search(r"aborted in command.*?: *(?:ERROR: *)?(.*)", result.stderr)
    return Outcome(latencies, finished - start, finished, aborted and aborted[1])
