"""django-ordered-model, with Django's own object mapper."""

from urllib.parse import parse_qs, urlsplit

from .peer import Peer, Session


class DjangoOrderedModel(Peer):
    title = "django-ordered-model (integer shift)"
    how = (
        "`item.below(anchor)` of the library, called as applications do, in `transaction.atomic()`. The library locks nothing. Its "
        "field has an index together with the list, which is the best one for it, and the indexes that Django adds for LIKE are dropped; "
        "with 8 sessions, 8 processes of Python.")
    table = "ordering_item"
    modules = ("django", "ordered_model")

    def install(self):
        _set_up(self)
        from django.db import connection

        from .django_app.models import Item, List

        with connection.schema_editor() as editor:
            editor.create_model(List)
            editor.create_model(Item)
        with self.connect() as plain:
            self._drop_indexes_for_like(plain)
            plain.execute('CREATE VIEW in_order AS SELECT list_id AS list, id AS item, "position" AS sort_key FROM ordering_item')
        connection.close()

    def _drop_indexes_for_like(self, connection):
        """Drops the indexes that Django adds for LIKE. With collation C they are useless, and each shifted row would cost more."""
        names = connection.execute(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indexrelid::regclass::text LIKE 'ordering%like'").fetchall()
        for (name,) in names:
            connection.execute(f"DROP INDEX {name}")

    def fill(self, lists, items):
        with self.connect() as plain:
            plain.execute("TRUNCATE ordering_list CASCADE")
            plain.execute("INSERT INTO ordering_list SELECT 'l' || number FROM generate_series(1, %s) AS number", [lists])
            plain.execute(
                """INSERT INTO ordering_item (id, list_id, "position")
                SELECT 'i' || (l - 1) * %(items)s + position, 'l' || l, position
                FROM generate_series(1, %(lists)s) AS l, generate_series(0, %(items)s - 1) AS position""",
                {"lists": lists, "items": items})
            self.vacuum(plain, items, "ordering_list, ordering_item")

    def session(self):
        _set_up(self)
        return DjangoSession()


class DjangoSession(Session):
    def __init__(self):
        from django.db import connection, transaction

        from .django_app.models import Item

        self._connection, self._atomic, self._items = connection, transaction.atomic, Item
        connection.ensure_connection()

    def place(self, list, item, anchor):
        with self._atomic():
            found = self._items.objects.filter(pk=item).first() or self._items.objects.create(pk=item, list_id=list)
            if anchor is None:
                found.top()
            else:
                found.below(self._items.objects.get(pk=anchor))

    def remove(self, list, item):
        with self._atomic():
            self._items.objects.get(pk=item).delete()

    def close(self):
        self._connection.close()


def _set_up(peer):
    import django
    from django.conf import settings

    if settings.configured:
        return
    address = urlsplit(peer.server.url(peer.database))
    parameters = parse_qs(address.query)
    settings.configure(
        INSTALLED_APPS=["ordered_model", "peers.django_app"],
        DATABASES={"default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": peer.database, "USER": "postgres",
            "HOST": parameters["host"][0], "PORT": parameters["port"][0], "CONN_MAX_AGE": None,
        }},
    )
    django.setup()
