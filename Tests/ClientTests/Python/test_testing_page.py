"""The project of docs/testing.md whose migrations create the schema, so that `manage.py test` finds it."""

import os
import shlex
import subprocess

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from conftest import PAGES, URL, code_blocks, recipe
from django_project import DjangoProject

DATABASE = "project_with_migrations"

MODELS = """
class Column(models.Model):
    name = models.TextField()


class Card(models.Model):
    column = models.ForeignKey(Column, on_delete=models.CASCADE)
    title = models.TextField()
"""

RANK = """
    rank = RankField(max_digits=57, decimal_places=38, null=True, editable=False)

    class Meta:
        ordering = [models.F("rank").asc(nulls_last=True)]
"""

TESTS = """
from django.test import TestCase
from board.models import Card, Column
{call}

class CardTests(TestCase):
    def titles(self, column):
        return list(Card.objects.filter(column=column).values_list("title", flat=True))

    def test_moves(self):
        self.todo = Column.objects.create(name="to do")
        self.milk, self.eggs, self.bread = (
            Card.objects.create(column=self.todo, title=title) for title in ["milk", "eggs", "bread"])
{test}
"""


@pytest.fixture
def url():
    """A database of its own, without schema brocot."""
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")
        server = {"password": "", **conninfo_to_dict(URL)}
        yield "postgresql://{user}:{password}@{host}:{port}/".format(**server) + DATABASE
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def indented(code, spaces):
    return "".join(" " * spaces + line for line in code.splitlines(keepends=True))


def test_migrations_of_the_project_make_a_test_database_with_the_schema(url, tmp_path):
    page = (PAGES / "testing.md").read_text()
    blocks = code_blocks(page, "python")
    call, test = (next(block for block in blocks if text in block) for text in ["def call(", "self.assertEqual(call"])
    imports, *migrations = next(block for block in blocks if "# 0002_brocot.py" in block).split("class Migration")
    commands = next(block for block in code_blocks(page, "sh") if "brocot_schema.sql" in block).splitlines()
    rank_field = recipe("Django", "python").split("class Task")[0]

    project = DjangoProject(tmp_path, "board", url=url)
    project.write("models.py", rank_field + MODELS)
    project.run("""
call_command("makemigrations", "board", verbosity=0)
call_command("migrate", verbosity=0)
""")
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "brocot"
        output = None
        if ">" in arguments:
            *arguments, _, output = arguments
        result = subprocess.run(
            [os.environ["BROCOT"], *arguments], env={**os.environ, "BROCOT_DATABASE_URL": url}, check=True,
            capture_output=True, text=True)
        if output:
            (tmp_path / output).write_text(result.stdout)
    project.write("migrations/0002_brocot.py", imports + "class Migration" + migrations[0])
    project.write("migrations/0003_attach_card.py", imports + "class Migration" + migrations[1])
    project.write("models.py", rank_field + MODELS + RANK)
    project.write("tests.py", TESTS.format(call=call, test=indented(test, 8)))
    printed = project.run("""
call_command("makemigrations", "board", "--check", "--dry-run")
call_command("test", "board")
""")
    assert "No changes detected" in printed and "Ran 1 test in " in printed and "\nOK\n" in printed, printed
