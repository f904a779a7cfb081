"""String keys of the package fractional-indexing."""

from .peer import Peer, Session


class StringKeys(Peer):
    title = "string keys (fractional-indexing)"
    how = (
        "A text in collation C between those of the neighbours, from the package fractional-indexing of PyPI. The application computes "
        "it in a transaction that waits for a lock of the list; with 8 sessions, in 8 processes of Python.")
    modules = ("fractional_indexing",)

    def install(self):
        with self.connect() as connection:
            connection.execute("""
                CREATE TABLE items (list text COLLATE "C", item text COLLATE "C", key text COLLATE "C" NOT NULL,
                    PRIMARY KEY (list, item));
                CREATE UNIQUE INDEX ON items (list, key);
                CREATE VIEW in_order AS SELECT list, item, key AS sort_key FROM items;
                CREATE FUNCTION neighbours(moved_list text, moved_item text, anchor text, OUT lower text, OUT upper text)
                LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM pg_advisory_xact_lock(hashtextextended(moved_list, 0));
                    IF anchor IS NOT NULL THEN
                        SELECT key INTO STRICT lower FROM items WHERE list = moved_list AND item = anchor;
                    END IF;
                    SELECT key INTO upper FROM items
                    WHERE list = moved_list AND item <> moved_item AND key > coalesce(lower, '') ORDER BY key LIMIT 1;
                END
                $$""")

    def fill(self, lists, items):
        from fractional_indexing import generate_key_between

        keys = [generate_key_between(None, None)]
        while len(keys) < items:
            keys.append(generate_key_between(keys[-1], None))
        with self.connect() as connection:
            connection.execute("TRUNCATE items")
            with connection.cursor().copy("COPY items FROM STDIN") as copy:
                for number in range(lists * items):
                    copy.write_row((f"l{number // items + 1}", f"i{number}", keys[number % items]))
            self.vacuum(connection, items)

    def session(self):
        return StringKeySession(self)


class StringKeySession(Session):
    def __init__(self, peer):
        from fractional_indexing import generate_key_between

        self._key_between = generate_key_between
        self._connection = peer.connect()
        self._connection.prepare_threshold = 0

    def place(self, list, item, anchor):
        connection = self._connection
        with connection.transaction():
            lower, upper = connection.execute("SELECT * FROM neighbours(%s, %s, %s)", [list, item, anchor]).fetchone()
            key = self._key_between(lower, upper)
            # The peers in SQL do the same, because ON CONFLICT DO UPDATE costs more.
            updated = connection.execute("UPDATE items SET key = %s WHERE list = %s AND item = %s", [key, list, item])
            if not updated.rowcount:
                connection.execute("INSERT INTO items VALUES (%s, %s, %s)", [list, item, key])

    def remove(self, list, item):
        self._connection.execute("DELETE FROM items WHERE list = %s AND item = %s", [list, item])

    def close(self):
        self._connection.close()
