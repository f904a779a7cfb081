"""What a peer has to do. Each peer is one small file, so that a reader can check that it gets a fair chance."""

from abc import ABC, abstractmethod
from pathlib import Path

from harness.modules import missing

FOLDER = Path(__file__).parent


class Session(ABC):
    """One connection of an application. Each call is a transaction of its own."""

    @abstractmethod
    def place(self, list, item, anchor):
        """Puts the item directly behind the anchor, or to the beginning if that is None. Inserts an item that is not there."""

    @abstractmethod
    def remove(self, list, item):
        """Takes the item away."""

    def close(self):
        """Ends the connection."""


class Peer(ABC):
    """A way to keep an order, in a database of its own. A view `in_order (list, item, sort_key)` shows its result."""

    title = ""
    # How it does a move, for the report.
    how = ""
    # The table whose rows have the order.
    table = "items"
    # What pgbench sends for a move: an SQL statement with {list}, {item} and {anchor}. None: sessions are processes of Python,
    # for libraries of Python.
    statement = None
    # The modules of Python that it imports, besides those that all peers need.
    modules = ()

    def __init__(self, key, server):
        self.key = key
        self.server = server
        self.database = key.replace("-", "_")

    def missing(self):
        """Why it can't take part, or None."""
        return missing(self.modules)

    @abstractmethod
    def install(self):
        """Makes its tables in its database, which is empty."""

    @abstractmethod
    def fill(self, lists, items):
        """Empties its tables, and fills lists in the order of their items."""

    def vacuum(self, connection, items, tables=None):
        """For the end of `fill`. A table that is known to be empty gets plans that read all of it, also when it has grown."""
        if items:
            connection.execute(f"VACUUM ANALYZE {tables or self.table}")

    @abstractmethod
    def session(self):
        """Opens a session."""

    def start(self):
        """Starts what has to run beside the sessions."""

    def settle(self):
        """Returns when every move is visible to others."""

    def stop(self):
        """Stops what `start` started."""

    def visible_after(self):
        """Seconds from each request until others could see the move, and when the last one was visible. None: with the call."""
        return None

    def connect(self):
        return self.server.connect(self.database)

    def order(self, list):
        """Pairs of an item and whether it has the same place as the one before it, in the order of the list."""
        with self.connect() as connection:
            return connection.execute(
                """SELECT item, sort_key IS NOT DISTINCT FROM lag(sort_key) OVER (ORDER BY sort_key) AND number > 1
                FROM (SELECT item, sort_key, row_number() OVER (ORDER BY sort_key) AS number FROM in_order WHERE list = %s) AS rows
                ORDER BY number""", [list]).fetchall()


class SqlSession(Session):
    """A session that calls functions of the database."""

    def __init__(self, peer):
        self._connection = peer.connect()
        self._connection.prepare_threshold = 0
        self._place, self._first, self._remove = peer.calls

    def place(self, list, item, anchor):
        if anchor is None:
            self._connection.execute(self._first, [list, item])
        else:
            self._connection.execute(self._place, [list, item, anchor])

    def remove(self, list, item):
        self._connection.execute(self._remove, [list, item])

    def close(self):
        self._connection.close()


class SqlPeer(Peer):
    """A peer whose moves are functions `place` and `remove` of a file of SQL, which also has `fill`."""

    file = ""
    statement = "SELECT place({list}, {item}, {anchor})"
    calls = ("SELECT place(%s, %s, %s)", "SELECT place(%s, %s, NULL)", "SELECT remove(%s, %s)")

    def install(self):
        with self.connect() as connection:
            for name in ["filling.sql", self.file]:
                connection.execute((FOLDER / name).read_text())

    def fill(self, lists, items):
        with self.connect() as connection:
            connection.execute("SELECT fill(%s, %s)", [lists, items])
            self.vacuum(connection, items)

    def session(self):
        return SqlSession(self)
