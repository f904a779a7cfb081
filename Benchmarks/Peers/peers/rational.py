"""The extension pg_rational, from Debian's package: unpacked by `prepare`, and loaded from there."""

from harness.debian import Package

from .peer import SqlPeer


class Rational(SqlPeer):
    title = "pg_rational"
    how = (
        "The extension's type and its `rational_intermediate`, with a unique index as in its README. One function, which waits for a "
        "lock of the list.")
    file = "pg_rational.sql"

    def __init__(self, key, server):
        super().__init__(key, server)
        self._package = Package("rational", server)

    def missing(self):
        return self._package.missing()

    def install(self):
        with self.connect() as connection:
            self._package.load("pg_rational--*.sql", connection)
        super().install()
