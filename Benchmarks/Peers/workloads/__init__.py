"""All workloads, in the order of the report."""

from .eight_sessions import EightSessions
from .narrow import OneSpot, Prepend, Zigzag
from .random_moves import RandomMoves
from .recorded import recordings


def all_workloads(quick, folder):
    """The workloads of a quick or a full run, with the recordings of a folder."""
    largest, length, edits = (100_000, 1_000, 5_000) if quick else (1_000_000, 10_000, 50_000)
    return [
        EightSessions("sessions-1", 1, 10_000),
        EightSessions("sessions-64", 64, length),
        *(RandomMoves(f"random-{items}", items) for items in (100, 10_000)),
        RandomMoves(f"random-{largest}", largest, is_read=True),
        OneSpot("one-spot"),
        Zigzag("zigzag"),
        Prepend("prepend"),
        *recordings(folder, edits)[: 1 if quick else None],
    ]
