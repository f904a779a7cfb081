"""What a workload is: lists, and the moves of each session. They are the same for every peer."""

from abc import ABC, abstractmethod


class Workload(ABC):
    title = ""
    what = ""
    lists = 1
    items = 0
    sessions = 1
    # Whether each commit waits for the disk. That wait is the same for all peers and would hide the rest of a single session.
    durable = False
    # Whether speed counts, or the move at which a peer breaks: one run is enough for that.
    repeated = False

    # Whether pages are read after the moves.
    is_read = False

    def __init__(self, key):
        self.key = key

    @abstractmethod
    def moves(self, session):
        """The moves of a session, from the beginning, as often as it is asked."""
