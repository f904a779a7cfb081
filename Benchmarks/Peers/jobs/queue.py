"""What a job queue has to do, to be compared with Brocot's."""

from abc import ABC, abstractmethod

from harness.modules import missing


class JobQueue(ABC):
    """A queue of jobs that do nothing, in a database of its own. Commits are durable."""

    title = ""
    # How it is used, for the report.
    how = ""
    # The modules of Python that it imports, besides those that all queues need.
    modules = ()

    def __init__(self, key, server):
        self.key = key
        self.server = server
        self.database = f"jobs_{key}"

    def missing(self):
        """Why it can't take part, or None."""
        return missing(self.modules)

    def connect(self):
        return self.server.connect(self.database)

    @abstractmethod
    def install(self):
        """Makes its tables in its database, which is empty."""

    @abstractmethod
    def enqueue(self, number):
        """Adds this many jobs, a thousand in a transaction."""

    @abstractmethod
    def drain(self, number):
        """Does all pending jobs with one worker. `number` says how many they are."""

    @abstractmethod
    def latencies(self, number, pause):
        """The seconds from the call that adds a job to its end, for jobs that come one at a time to a worker that waits."""
