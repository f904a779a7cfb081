"""asyncpg, which asks the server for the types of parameters. Tasks have UUIDs, and projects have numbers."""

import asyncio
import uuid
from decimal import Decimal

import asyncpg
import pytest

from conftest import URL, drain, recipe

PROJECT = 7
INSERT = "INSERT INTO tasks (id, project_id, title) VALUES ($1, $2, $3)"
ITEM = {letter: uuid.uuid4() for letter in "abcdefg"}


def asynchronous(test):
    """Makes a test of an async function with a connection of its own."""

    def run(tasks_with_uuids):
        async def with_connection():
            connection = await asyncpg.connect(URL)
            try:
                await test(connection)
            finally:
                await connection.close()

        asyncio.run(with_connection())

    return run


async def insert(connection, letters):
    await connection.executemany(INSERT, [(ITEM[letter], PROJECT, letter) for letter in letters])
    drain()


async def titles(connection):
    rows = await connection.fetch(
        "SELECT title FROM tasks WHERE project_id = $1 AND rank IS NOT NULL ORDER BY rank", PROJECT)
    return "".join(row["title"] for row in rows)


@asynchronous
async def test_rows_are_placed_last_however_they_are_inserted(connection):
    await connection.execute(INSERT, ITEM["a"], PROJECT, "a")
    await connection.executemany(INSERT, [(ITEM[letter], PROJECT, letter) for letter in "bc"])
    await connection.copy_records_to_table(
        "tasks", records=[(ITEM[letter], PROJECT, letter) for letter in "de"], columns=["id", "project_id", "title"])
    drain()
    assert await titles(connection) == "abcde"


@asynchronous
async def test_rows_are_moved_by_their_own_keys(connection):
    await insert(connection, "abcd")
    id = await connection.fetchval(
        "SELECT brocot.move($1::bigint, $2::uuid, after => $3, ordered_table => 'public.tasks')",
        PROJECT, ITEM["d"], ITEM["a"])
    assert isinstance(id, int)
    await connection.execute(
        "SELECT brocot.move($1::bigint, $2::uuid, at => $3, ordered_table => $4, idempotency_key => $5)",
        PROJECT, ITEM["c"], 0, "public.tasks", str(uuid.uuid4()))
    drain()
    assert await titles(connection) == "cadb"
    assert await connection.fetchval("SELECT status FROM brocot.request_status($1)", id) == "applied"


@asynchronous
async def test_arguments_that_are_not_given_may_be_null(connection):
    await insert(connection, "abc")
    await connection.execute(
        """
        SELECT brocot.move(
            $1::bigint, $2::uuid, before => $3, after => $4, at => $5, first => $6, last => $7,
            ordered_table => 'public.tasks')
        """,
        PROJECT, ITEM["a"], None, None, None, None, True)
    drain()
    assert await titles(connection) == "bca"


@asynchronous
async def test_several_rows_are_moved_and_removed_together(connection):
    await insert(connection, "abcde")
    await connection.execute(
        "SELECT brocot.move_items($1::bigint, $2::uuid[], after => $3, ordered_table => 'public.tasks')",
        PROJECT, [ITEM["b"], ITEM["a"]], ITEM["d"])
    drain()
    assert await titles(connection) == "cdbae"
    await connection.execute(
        "SELECT brocot.remove_items($1::bigint, $2::uuid[], ordered_table => 'public.tasks')",
        PROJECT, [ITEM["c"], ITEM["a"]])
    await connection.execute(
        "SELECT brocot.remove($1::bigint, $2::uuid, ordered_table => 'public.tasks')", PROJECT, ITEM["e"])
    drain()
    assert await titles(connection) == "db"


@asynchronous
async def test_a_row_changes_its_list(connection):
    await insert(connection, "abc")
    await connection.execute(
        "SELECT brocot.move($1::bigint, $2::uuid, last => true, from_list => $3, ordered_table => 'public.tasks')",
        8, ITEM["b"], PROJECT)
    drain()
    assert await titles(connection) == "ac"


@asynchronous
async def test_a_transaction_moves_at_once(connection):
    await insert(connection, "abc")
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("SELECT brocot.lock_lists($1::bigint[], ordered_table => 'public.tasks')", [PROJECT])
    await connection.execute(
        "SELECT brocot.move_now($1::bigint, $2::uuid, first => true, ordered_table => 'public.tasks')",
        PROJECT, ITEM["c"])
    assert await titles(connection) == "cab"
    await connection.execute(
        "SELECT brocot.move_items_now($1::bigint, $2::uuid[], at => $3, ordered_table => 'public.tasks')",
        PROJECT, [ITEM["b"], ITEM["a"]], 0)
    assert await titles(connection) == "bac"
    await transaction.rollback()
    assert await titles(connection) == "abc"


@asynchronous
async def test_an_error_of_a_move_at_once_has_its_code(connection):
    await insert(connection, "ab")
    async with connection.transaction():
        with pytest.raises(asyncpg.PostgresError) as error:
            async with connection.transaction():
                await connection.execute(
                    "SELECT brocot.move_now($1::bigint, $2::uuid, after => $3, ordered_table => 'public.tasks')",
                    PROJECT, ITEM["a"], ITEM["c"])
        assert error.value.sqlstate == "RK004"
        await connection.execute(
            "SELECT brocot.move_now($1::bigint, $2::uuid, after => $3, ordered_table => 'public.tasks')",
            PROJECT, ITEM["a"], ITEM["b"])
    assert await titles(connection) == "ba"


@asynchronous
async def test_without_casts_the_list_and_the_item_are_text(connection):
    await insert(connection, "ab")
    statement = "SELECT brocot.move($1, $2, first => true, ordered_table => 'public.tasks')"
    for arguments in [(PROJECT, str(ITEM["b"])), (str(PROJECT), ITEM["b"])]:
        with pytest.raises(asyncpg.DataError, match="expected str"):
            await connection.execute(statement, *arguments)
    await connection.execute(statement, str(PROJECT), str(ITEM["b"]))
    drain()
    assert await titles(connection) == "ba"


@asynchronous
async def test_an_array_as_one_item_is_refused(connection):
    with pytest.raises(asyncpg.InvalidParameterValueError, match="looks like an array"):
        await connection.execute(
            "SELECT brocot.move($1::bigint, $2::uuid[], last => true, ordered_table => 'public.tasks')",
            PROJECT, [ITEM["a"], ITEM["b"]])


@asynchronous
async def test_pages_follow_each_other(connection):
    await insert(connection, "abcdefg")
    for letter in "gfgf":
        await connection.execute(
            "SELECT brocot.move($1::bigint, $2::uuid, after => $3, ordered_table => 'public.tasks')",
            PROJECT, ITEM[letter], ITEM["a"])
    drain()
    last, pages = Decimal("-Infinity"), []
    while page := await connection.fetch(
        "SELECT title, rank FROM tasks WHERE project_id = $1 AND rank > $2 ORDER BY rank LIMIT 3", PROJECT, last
    ):
        pages.append("".join(row["title"] for row in page))
        last = page[-1]["rank"]
    assert pages == ["afg", "bcd", "e"]


def test_the_recipe(tasks_of_recipes):
    names = {}
    exec(recipe("asyncpg", "python"), names)
    move, page = names["move"], names["page"]

    async def scenario():
        connection = await asyncpg.connect(URL)
        try:
            await move(connection, 7, 42, after=40)
            await move(connection, 7, 41, first=True)
            await asyncio.to_thread(drain)
            rows = await page(connection, 7)
            rest = await page(connection, 7, last=rows[1]["rank"])
        finally:
            await connection.close()
        return [row["id"] for row in rows], [row["id"] for row in rest]

    assert asyncio.run(scenario()) == ([41, 40, 42, 43], [42, 43])
