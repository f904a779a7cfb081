"""procrastinate, with psycopg."""

import asyncio
import time

from harness.deadline import wait_beside

from .queue import JobQueue

CONCURRENCY = 20


class Procrastinate(JobQueue):
    title = "procrastinate"
    how = f"An empty asynchronous task, deferred with `batch_defer`; one worker with a concurrency of {CONCURRENCY}."
    modules = ("procrastinate",)

    def _app(self):
        import procrastinate

        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self.server.url(self.database)))
        ended = []

        @app.task(name="nothing")
        async def nothing():
            ended.append(time.time())

        return app, nothing, ended

    def install(self):
        async def install():
            app, _, _ = self._app()
            async with app.open_async():
                await app.schema_manager.apply_schema_async()

        asyncio.run(install())

    def enqueue(self, number):
        async def enqueue():
            app, nothing, _ = self._app()
            async with app.open_async():
                for first in range(0, number, 1000):
                    await nothing.batch_defer_async(*[{}] * (min(first + 1000, number) - first))

        asyncio.run(enqueue())

    def drain(self, number):
        async def drain():
            app, _, ended = self._app()
            async with app.open_async():
                await app.run_worker_async(wait=False, concurrency=CONCURRENCY, install_signal_handlers=False)
            assert len(ended) == number, f"{len(ended)} jobs instead of {number}"

        asyncio.run(drain())

    def latencies(self, number, pause):
        async def one_at_a_time():
            app, nothing, ended = self._app()
            async with app.open_async():
                worker = asyncio.create_task(
                    app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False))
                await asyncio.sleep(1)
                seconds = []
                for _ in range(number):
                    await asyncio.sleep(pause)
                    began, done = time.time(), len(ended)
                    await nothing.defer_async()
                    await wait_beside(worker, "the job is done", lambda: len(ended) > done)
                    seconds.append(ended[-1] - began)
                worker.cancel()
                await asyncio.gather(worker, return_exceptions=True)
                return seconds

        return asyncio.run(one_at_a_time())
