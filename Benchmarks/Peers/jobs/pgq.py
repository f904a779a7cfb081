"""PgQ, from Debian's package: unpacked by `prepare`, and loaded from there."""

import threading
import time

from harness.deadline import wait_until
from harness.debian import Package

from .queue import JobQueue


class PgQ(JobQueue):
    title = "PgQ"
    how = (
        "Events added with arrays, and read in batches by one consumer. It makes a tick before each batch; its ticker `pgqd`, which is "
        "another program, makes one in up to three seconds.")

    def __init__(self, key, server):
        super().__init__(key, server)
        self._package = Package("pgq3", server)

    def missing(self):
        return self._package.missing()

    def install(self):
        with self.connect() as connection:
            self._package.load("pgq--[0-9].[0-9].sql", connection)
            connection.execute("SELECT pgq.create_queue('nothing'), pgq.register_consumer('nothing', 'worker')")
            # A tick each time that the program asks for one.
            connection.execute("SELECT pgq.set_queue_config('nothing', 'ticker_max_lag', '0')")
            connection.execute("SELECT pgq.set_queue_config('nothing', 'ticker_idle_period', '0')")

    def enqueue(self, number):
        with self.connect() as connection:
            for first in range(0, number, 1000):
                connection.execute(
                    "SELECT count(pgq.insert_event('nothing', 'nothing', data)) FROM unnest(%s::text[]) AS data",
                    [[""] * (min(first + 1000, number) - first)])

    def drain(self, number):
        with self.connect() as connection:
            done = 0

            def is_done():
                nonlocal done
                done += self._batch(connection)
                return done >= number

            wait_until("all events are read", is_done, pause=0)

    def _batch(self, connection):
        """The number of events in the next batch."""
        connection.execute("SELECT pgq.ticker('nothing')")
        batch = connection.execute("SELECT pgq.next_batch('nothing', 'worker')").fetchone()[0]
        if batch is None:
            return 0
        events = connection.execute("SELECT ev_id, ev_type, ev_data FROM pgq.get_batch_events(%s)", [batch]).fetchall()
        connection.execute("SELECT pgq.finish_batch(%s)", [batch])
        return len(events)

    def latencies(self, number, pause):
        ended, over = [], threading.Event()

        def work():
            with self.connect() as connection:
                while not over.is_set():
                    count = self._batch(connection)
                    ended.extend([time.time()] * count)
                    time.sleep(0.001)

        worker, seconds = threading.Thread(target=work), []
        worker.start()
        try:
            with self.connect() as connection:
                for _ in range(number):
                    time.sleep(pause)
                    began, done = time.time(), len(ended)
                    connection.execute("SELECT pgq.insert_event('nothing', 'nothing', '')")
                    wait_until("the worker has read the event", lambda: _is_longer(ended, done, worker), seconds=60, pause=0.0005)
                    seconds.append(ended[-1] - began)
        finally:
            over.set()
            worker.join()
        return seconds


def _is_longer(ended, done, worker):
    if not worker.is_alive():
        raise RuntimeError("the worker has ended")
    return len(ended) > done
