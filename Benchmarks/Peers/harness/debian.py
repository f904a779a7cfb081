"""Extensions from Debian's packages, without installing them: only root could, and a benchmark need not change a system."""

import re
import shutil
import subprocess
from pathlib import Path

from .server import program

FOLDER = Path(__file__).parents[3] / ".build/bench/debian"


class Package:
    """A package postgresql-NN-NAME that `prepare` unpacked."""

    def __init__(self, name, server):
        version = re.search(r"\d+", subprocess.run([program("postgres"), "--version"], capture_output=True, text=True).stdout)
        self.name = f"postgresql-{version[0]}-{name}"
        self._server = server

    def missing(self):
        if not (FOLDER / self.name).is_dir():
            return f"Debian's package {self.name} could not be had"

    def load(self, pattern, connection):
        """Runs an extension's script, with the path of its libraries in it."""
        # The server's user may not enter the folder of the project.
        copy = self._server.folder / self.name
        if not copy.exists():
            shutil.copytree(FOLDER / self.name, copy)
        script = min(copy.glob(f"usr/share/postgresql/*/extension/{pattern}"))
        libraries = next(copy.glob("usr/lib/postgresql/*/lib"))
        # Without the lines that only CREATE EXTENSION understands.
        text = re.sub(r"(?mi)^(\\.*|select pg_catalog\.pg_extension_config_dump\(.*)$", "", script.read_text())
        connection.execute(text.replace("$libdir/", f"{libraries}/"))
