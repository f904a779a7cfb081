"""psycopg 3, with parameters that the server binds."""

import uuid

from conftest import drain

PROJECT = uuid.uuid4()


def titles(connection):
    rows = connection.execute("SELECT title FROM tasks WHERE project_id = %s ORDER BY rank", [PROJECT])
    return "".join(title for (title,) in rows)


def insert(connection, letters):
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO tasks (id, project_id, title) VALUES (%s, %s, %s)",
            [(ord(letter), PROJECT, letter) for letter in letters],
        )
    drain()


def test_rows_are_moved_by_their_own_keys(connection):
    insert(connection, "abcd")
    assert titles(connection) == "abcd"
    connection.execute(
        "SELECT brocot.move(%s, %s, first => true, ordered_table => 'public.tasks')", [PROJECT, ord("d")])
    connection.execute(
        "SELECT brocot.move_items(%s, %s, after => %s, ordered_table => 'public.tasks')",
        [PROJECT, [ord("b"), ord("a")], ord("c")],
    )
    drain()
    assert titles(connection) == "dcba"


def test_pages_follow_each_other(connection):
    insert(connection, "abcdefg")
    for _ in range(3):
        connection.execute(
            "SELECT brocot.move(%s, %s, after => %s, ordered_table => 'public.tasks')", [PROJECT, ord("g"), ord("a")])
        connection.execute(
            "SELECT brocot.move(%s, %s, after => %s, ordered_table => 'public.tasks')", [PROJECT, ord("f"), ord("a")])
    drain()
    last, pages = None, []
    while True:
        page = connection.execute(
            "SELECT title, rank FROM tasks WHERE project_id = %s AND rank > coalesce(%s, '-Infinity'::numeric)"
            " ORDER BY rank LIMIT 3", [PROJECT, last]).fetchall()
        if not page:
            break
        pages.append("".join(title for title, _ in page))
        last = page[-1][1]
    assert pages == ["afg", "bcd", "e"]


def test_rows_that_are_there_already_are_left_alone(connection):
    insert(connection, "abc")
    connection.execute(
        "INSERT INTO tasks (id, project_id, title) VALUES (%s, %s, 'x'), (%s, %s, 'd') ON CONFLICT DO NOTHING",
        [ord("a"), PROJECT, ord("d"), PROJECT])
    drain()
    assert titles(connection) == "abcd"


def test_copied_rows_are_placed(connection):
    with connection.cursor().copy("COPY tasks (id, project_id, title) FROM STDIN") as copy:
        for letter in "abc":
            copy.write_row((ord(letter), PROJECT, letter))
    drain()
    assert titles(connection) == "abc"
