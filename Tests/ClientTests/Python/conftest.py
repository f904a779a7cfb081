"""An attached table, whose rows a daemon places and moves."""

import os
import subprocess

import psycopg
import pytest

URL = os.environ["DATABASE_URL"]


def brocot(*arguments):
    subprocess.run([os.environ["BROCOT"], *arguments], env={**os.environ, "BROCOT_DATABASE_URL": URL}, check=True)


def drain():
    """Applies all pending requests."""
    brocot("daemon", "--drain")


@pytest.fixture
def connection():
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id uuid NOT NULL, title text NOT NULL)")
        brocot("attach", "public.tasks", "--item", "id", "--list", "project_id")
        yield connection
        brocot("detach", "public.tasks")
        connection.execute("DROP TABLE tasks; DELETE FROM brocot.move_requests")
