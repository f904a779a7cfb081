"""The recipe for a client that shows the move at once, run from its page."""

import json
import shutil
import subprocess
import uuid

import pytest

from conftest import drain, recipe

PROJECT = uuid.UUID("00000000-0000-0000-0000-000000000007")


def block(language):
    """The code of one language in the recipe."""
    return recipe("A client that shows the move at once", language)


def ask(connection, statement, key):
    """Runs a statement of the recipe with the client's key. The project of these tests has a uuid."""
    text = statement.replace("brocot.move(7,", f"brocot.move('{PROJECT}',").replace("$1", "%s")
    return connection.execute(text, [key]).fetchone()[0]


def statements():
    return [line.split("--")[0].strip().rstrip(";") for line in block("sql").splitlines() if line.startswith("SELECT")]


def order(connection):
    rows = connection.execute("SELECT id FROM tasks WHERE project_id = %s ORDER BY rank", [PROJECT])
    return [id for (id,) in rows]


@pytest.fixture
def tasks(connection):
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO tasks (id, project_id, title) VALUES (%s, %s, '')", [(id, PROJECT) for id in (40, 41, 42)])
    drain()
    return connection


def test_a_move_that_is_sent_twice_counts_once(tasks):
    after, first = statements()
    key = str(uuid.uuid4())
    ask(tasks, first, str(uuid.uuid4()))
    drain()
    assert order(tasks) == [42, 40, 41]
    id = ask(tasks, after, key)
    drain()
    assert order(tasks) == [40, 41, 42]
    ask(tasks, first, str(uuid.uuid4()))
    assert ask(tasks, after, key) == id
    drain()
    assert order(tasks) == [42, 40, 41]


def test_a_neighbour_that_was_removed_is_told(tasks):
    tasks.execute("DELETE FROM tasks WHERE id = 41")
    id = ask(tasks, statements()[0], str(uuid.uuid4()))
    drain()
    error_code = tasks.execute("SELECT error_code FROM brocot.request_status(%s)", [id]).fetchone()[0]
    assert error_code == "anchor_not_found"


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is missing")
@pytest.mark.parametrize("item, neighbour, shown", [("c", "a", "acb"), ("c", None, "cab"), ("a", "c", "bca")])
def test_the_client_shows_the_move_and_takes_it_back_after_an_error(item, neighbour, shown):
    program = block("js") + """
    const shown = []
    let sent
    const render = list => shown.push(list.map(item => item.id).join(''))
    const restore = list => render(list)
    const send = (path, body) => { sent = body; return Promise.reject(new Error('offline')) }
    const list = ['a', 'b', 'c'].map(id => ({ id }))
    const [item, neighbour] = JSON.parse(process.argv[1]).map(id => list.find(item => item.id === id))
    drop(list, item, neighbour)
    setImmediate(() => console.log(JSON.stringify({ shown, item: sent.item, after: sent.after })))
    """
    result = subprocess.run(
        ["node", "-e", program, json.dumps([item, neighbour])], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"shown": [shown, "abc"], "item": item, "after": neighbour}
