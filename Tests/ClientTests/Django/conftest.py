"""The test database gets Brocot's schema and an ordered table as the real one does: by the command line."""

import os
import subprocess
from urllib.parse import quote

import pytest
from django.db import connection


def brocot(*arguments):
    database = connection.settings_dict
    url = "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(
        **{name: quote(str(value), safe="") for name, value in database.items() if isinstance(value, (str, int))}
    )
    subprocess.run([os.environ["BROCOT"], *arguments], env={**os.environ, "BROCOT_DATABASE_URL": url}, check=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock():
        brocot("migrate", "up")
        brocot("attach", "public.board_card", "--item", "id", "--list", "column_id", "--arrive-now")
