"""The guides from Python's libraries, with the application's code before and after as their pages print it."""

import shlex
from types import SimpleNamespace

import psycopg
import pytest

from conftest import PAGES, URL, brocot, code_blocks, drain
from django_project import DjangoProject


@pytest.fixture
def connection():
    """Afterwards the tables of the guides are gone."""
    with psycopg.connect(URL, autocommit=True) as connection:
        yield connection
        for (table,) in connection.execute("SELECT name FROM brocot.ordered_tables WHERE name <> 'items'").fetchall():
            brocot("detach", table)
        connection.execute("DROP TABLE IF EXISTS cards, shop_song, shop_playlist, django_migrations")


def guide(name):
    """The blocks of a guide: its SQL, its Python code, and the arguments of its attach command."""
    page = (PAGES / f"{name}.md").read_text()
    commands = code_blocks(page, "sh")[0].splitlines()
    attach = next(command for command in commands if command.startswith("brocot attach"))
    return code_blocks(page, "sql"), code_blocks(page, "python"), shlex.split(attach)[1:]


BEFORE = """
call_command("makemigrations", "shop", verbosity=0)
call_command("migrate", verbosity=0)
from django.db import connection
for round in range(2):
    with connection.cursor() as cursor:
        cursor.execute('TRUNCATE shop_song, shop_playlist RESTART IDENTITY')
        cursor.execute(ROWS)
    if round == 0:
        Song.objects.get(title="Here Comes the Sun").to(0)
        assert Song.objects.order_by("order").filter(playlist=1)[0].title == "Here Comes the Sun"
"""

AFTER = """
call_command("migrate", "shop", verbosity=0)
call_command("makemigrations", "shop", "--check", "--dry-run")
from conftest import drain
morning, evening = Playlist.objects.order_by("id")
sun, lovely, good, harvest, blue = (
    Song.objects.get(title=title)
    for title in ["Here Comes the Sun", "Lovely Day", "Good Morning", "Harvest Moon", "Blue Moon"])

def expect(playlist, *titles):
    found = [song.title for song in playlist.song_set.all()]
    assert found == list(titles), found

# The order that was there, and then the table of the guide, row by row.
expect(morning, "Lovely Day", "Good Morning", "Here Comes the Sun")
expect(evening, "Harvest Moon", "Blue Moon")
sun.move(first=True)
lovely.move(last=True)
lovely.move(before=good)
drain()
expect(morning, "Here Comes the Sun", "Lovely Day", "Good Morning")
sun.move(after=lovely)
good.move(at=0)
drain()
expect(morning, "Good Morning", "Lovely Day", "Here Comes the Sun")
Song.objects.create(playlist=morning, title="Ring")
Song.objects.bulk_create([Song(playlist=evening, title="Tea"), Song(playlist=evening, title="Yawn")])
blue.playlist = morning
blue.save()
good.move(last=True)
drain()
good.title = "Better Morning"
good.save()
expect(morning, "Lovely Day", "Here Comes the Sun", "Ring", "Blue Moon", "Better Morning")
expect(evening, "Harvest Moon", "Tea", "Yawn")
last = morning.song_set.all()[2]
assert [song.title for song in morning.song_set.filter(rank__gt=last.rank)[:20]] == ["Blue Moon", "Better Morning"]
harvest.delete()
lovely.pk = None
lovely._state.adding = True
lovely.save()
drain()
expect(morning, "Lovely Day", "Here Comes the Sun", "Ring", "Blue Moon", "Better Morning", "Lovely Day")
morning.song_set.update(playlist=evening)
drain()
expect(morning)
assert [song.title for song in evening.song_set.all()[:2]] == ["Tea", "Yawn"] and evening.song_set.count() == 8
"""


def test_a_django_project_leaves_django_ordered_model(connection, tmp_path):
    (_, rows, *_), (before, after, migration, *_), attach = guide("from-django-ordered-model")
    project = DjangoProject(tmp_path, "shop", "ordered_model")
    project.write("models.py", before)
    project.run(f"ROWS = {rows!r}\n{BEFORE}")
    brocot(*attach)
    project.write("models.py", after)
    project.write("migrations/0002_rank.py", migration)
    assert "No changes detected" in project.run(AFTER)


def test_an_application_leaves_fractional_indexing(connection):
    sql, (before, after), attach = guide("from-fractional-indexing")
    tables, rows = sql[:2]
    old_code, new_code = {}, {}
    exec(before, old_code)
    exec(after, new_code)
    connection.execute(tables)
    connection.execute(rows)

    def expect(column, *titles):
        found = [title for (title,) in connection.execute(f"SELECT title FROM cards ORDER BY {column}")]
        assert found == list(titles)

    ids = dict(connection.execute("SELECT title, id FROM cards").fetchall())
    card = SimpleNamespace(id=ids["Test"])
    old_code["move"](connection, card, SimpleNamespace(position="Zz"), SimpleNamespace(position="a0"))
    brocot(*attach)
    for column in ['position COLLATE "C"', "rank"]:
        expect(column, "Ask", "Test", "Design", "Build", "Review")

    for statement in sql:
        if statement.startswith("ALTER TABLE"):
            connection.execute(statement)
    connection.execute("INSERT INTO cards (board_id, title) VALUES (1, 'Ship')")
    for title, place in [
        ("Build", {"first": True}), ("Ask", {"last": True}),
        ("Review", {"before": ids["Test"]}), ("Design", {"after": ids["Build"]}),
    ]:
        request = new_code["move"](connection, ids[title], 1, **place)
        status = connection.execute("SELECT status FROM brocot.request_status(%s)", [request]).fetchone()
        assert status == ("pending",)
    drain()
    expect("rank", "Build", "Design", "Review", "Test", "Ship", "Ask")
