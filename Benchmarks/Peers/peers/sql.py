"""Peers that are SQL alone. Each file says how it works."""

from .peer import SqlPeer


class ActsAsList(SqlPeer):
    title = "acts_as_list (integer shift)"
    how = (
        "The statements of `insert_at` of the Rails gem acts_as_list, as one function: faster than the gem, which needs Ruby and "
        "nine round trips. Like the gem it locks the moved row.")
    file = "acts_as_list.sql"


class DoubleMidpoint(SqlPeer):
    title = "double midpoint"
    how = "The mean of the neighbours' doubles. One function, which waits for a lock of the list; an index that is not unique."
    file = "double_midpoint.sql"


class GappedBigint(SqlPeer):
    title = "bigint with gaps"
    how = (
        "Gaps of 2^32; where one is full, a window of neighbours is spread evenly. The window doubles until its items can be 2^16 "
        "apart. One function, which waits for a lock of the list.")
    file = "gapped_bigint.sql"


class WikiPairs(SqlPeer):
    title = "p/q pairs of the PostgreSQL wiki"
    how = (
        "Two integers, a unique index on p / q as a double, and the whole list numbered anew where a number exceeds 10 million. "
        "One function in our words, which waits for a lock of the list.")
    file = "wiki_pairs.sql"
