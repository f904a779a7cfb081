"""An attached table, whose rows a daemon places and moves."""

import contextlib
import os
import pathlib
import re
import subprocess

import psycopg
import pytest

URL = os.environ["DATABASE_URL"]
PAGES = pathlib.Path(__file__).parents[3] / "docs"


def brocot(*arguments):
    subprocess.run([os.environ["BROCOT"], *arguments], env={**os.environ, "BROCOT_DATABASE_URL": URL}, check=True)


def drain():
    """Applies all pending requests."""
    brocot("daemon", "--drain")


def code_blocks(text, language):
    """The code of one language in a page or a section, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def recipe(title, language):
    """The code of one language in a recipe, as its page prints it."""
    section = (PAGES / "recipes.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return code_blocks(section, language)[0]


@contextlib.contextmanager
def attached_tasks(columns):
    """A connection to a database with an attached table `tasks` of these columns."""
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE tasks ({columns})")
        brocot("attach", "public.tasks", "--item", "id", "--list", "project_id")
        yield connection
        brocot("detach", "public.tasks")
        connection.execute("DROP TABLE tasks; DELETE FROM brocot.move_requests")


@pytest.fixture
def connection():
    with attached_tasks("id bigint PRIMARY KEY, project_id uuid NOT NULL, title text NOT NULL") as connection:
        yield connection


@pytest.fixture
def tasks_with_uuids():
    with attached_tasks("id uuid PRIMARY KEY, project_id bigint NOT NULL, title text NOT NULL") as connection:
        yield connection


@pytest.fixture
def tasks_of_recipes():
    """The table of docs/recipes.md, with the tasks 40 to 43 in project 7."""
    with attached_tasks("id bigint PRIMARY KEY, project_id bigint NOT NULL, title text NOT NULL") as connection:
        connection.execute("INSERT INTO tasks SELECT id, 7, '' FROM generate_series(40, 43) AS id")
        drain()
        yield connection
