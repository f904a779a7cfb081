"""The recipe that tells other clients of moves, run from its page."""

import psycopg
import pytest

from conftest import URL, drain, recipe


@pytest.fixture
def tasks(tasks_of_recipes):
    tasks_of_recipes.execute(recipe("Telling other clients", "sql"))
    return tasks_of_recipes


def test_each_list_is_told_once_whoever_moves_its_tasks(tasks):
    with psycopg.connect(URL, autocommit=True) as listener:
        listener.execute("LISTEN board")

        def told(count):
            """The lists of the next notifications, and of all that come with them."""
            return sorted(notification.payload for notification in listener.notifies(timeout=60, stop_after=count))

        tasks.execute("SELECT brocot.move_items_now(7, ARRAY[43, 42], first => true, ordered_table => 'public.tasks')")
        assert told(1) == ["7"]
        tasks.execute("SELECT brocot.move(7, id, last => true, ordered_table => 'public.tasks') FROM unnest(ARRAY[40, 41]) AS id")
        drain()
        assert told(1) == ["7"]
        tasks.execute("SELECT brocot.move_now(8, 40, first => true, from_list => 7, ordered_table => 'public.tasks')")
        assert told(2) == ["7", "8"]
        tasks.execute("INSERT INTO tasks VALUES (44, 9, '')")
        drain()
        assert told(1) == ["9"]
