"""A Django project in a folder of its own."""

import os
import pathlib
import subprocess
import sys

from conftest import URL

TESTS = pathlib.Path(__file__).parents[1]


class DjangoProject:
    def __init__(self, folder, app, *other_apps, url=URL):
        self.folder, self.app = folder, app
        self.environment = {
            **os.environ,
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "project_settings",
            "PYTHONPATH": os.pathsep.join(map(str, [folder, TESTS / "Python", TESTS / "Django"])),
        }
        (folder / "project_settings.py").write_text(f"from settings import *\n\nINSTALLED_APPS = {[*other_apps, app]}\n")
        for package in [folder / app, folder / app / "migrations"]:
            package.mkdir()
            (package / "__init__.py").touch()

    def write(self, path, text):
        """Writes a file of the application."""
        (self.folder / self.app / path).write_text(text)

    def run(self, code):
        """Runs code in a process that knows the application's models and Django's commands. Returns what it prints."""
        beginning = f"""
import django
django.setup()
from django.core.management import call_command
from {self.app}.models import *
"""
        result = subprocess.run(
            [sys.executable, "-c", beginning + code], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout + result.stderr
