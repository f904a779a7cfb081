"""Waits with a deadline. If a benchmark stops, its error says what it waited for."""

import asyncio
import subprocess
import sys
import time


def wait_until(what, is_so, seconds=300, pause=0.02):
    """Returns when `is_so` returns true. `what` describes this condition."""
    deadline = time.monotonic() + seconds
    while not is_so():
        _check(what, deadline, seconds)
        time.sleep(pause)


async def wait_beside(worker, what, is_so, seconds=60, pause=0.0005):
    """Like `wait_until`, but it fails if the task `worker` ends first."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if worker.done():
            # If it failed, this raises its error.
            worker.result()
            raise RuntimeError(f"the worker ended before this: {what}")
        _check(what, deadline, seconds)
        await asyncio.sleep(pause)


def _check(what, deadline, seconds):
    if time.monotonic() > deadline:
        raise TimeoutError(f"not within {seconds} s: {what}")


def end(process, name, *signals, seconds=60):
    """Sends one signal after the other until a process has ended."""
    for signal in signals:
        process.send_signal(signal)
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            print(f"{name} did not end within {seconds} s of {signal.name}", file=sys.stderr)
    raise TimeoutError(f"{name} does not end")
