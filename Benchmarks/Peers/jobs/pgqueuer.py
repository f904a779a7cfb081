"""pgqueuer, with asyncpg as in its documentation."""

import asyncio
import time

from harness.deadline import wait_beside

from .queue import JobQueue

BATCH = 200


class PgQueuerJobs(JobQueue):
    title = "pgqueuer"
    how = f"An empty asynchronous entrypoint, added with arrays; one worker that takes {BATCH} jobs at a time."
    modules = ("pgqueuer", "asyncpg")

    async def _open(self):
        import asyncpg
        from pgqueuer import PgQueuer

        # asyncpg does not take the folder of a socket from an address like libpq's.
        connection = await asyncpg.connect(
            host=str(self.server.folder), port=self.server.port, user="postgres", database=self.database)
        queue, ended = PgQueuer.from_asyncpg_connection(connection), []

        @queue.entrypoint("nothing")
        async def nothing(job):
            ended.append(time.time())

        return connection, queue, ended

    def install(self):
        async def install():
            connection, queue, _ = await self._open()
            await queue.qm.queries.install()
            await connection.close()

        asyncio.run(install())

    def enqueue(self, number):
        async def enqueue():
            connection, queue, _ = await self._open()
            for first in range(0, number, 1000):
                count = min(first + 1000, number) - first
                await queue.qm.queries.enqueue(["nothing"] * count, [None] * count, [0] * count)
            await connection.close()

        asyncio.run(enqueue())

    def drain(self, number):
        from pgqueuer.types import QueueExecutionMode

        async def drain():
            connection, queue, ended = await self._open()
            await queue.qm.run(batch_size=BATCH, mode=QueueExecutionMode.drain)
            await connection.close()
            assert len(ended) == number, f"{len(ended)} jobs instead of {number}"

        asyncio.run(drain())

    def latencies(self, number, pause):
        async def one_at_a_time():
            connection, queue, ended = await self._open()
            sender, sending, _ = await self._open()
            worker = asyncio.create_task(queue.qm.run(batch_size=BATCH))
            await asyncio.sleep(1)
            seconds = []
            for _ in range(number):
                await asyncio.sleep(pause)
                began, done = time.time(), len(ended)
                await sending.qm.queries.enqueue("nothing", None)
                await wait_beside(worker, "the job is done", lambda: len(ended) > done)
                seconds.append(ended[-1] - began)
            queue.qm.shutdown.set()
            await worker
            await connection.close()
            await sender.close()
            return seconds

        return asyncio.run(one_at_a_time())
