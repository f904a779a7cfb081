"""A PostgreSQL server of the benchmark's own, durable, in a temporary folder."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from .deadline import end

# Everything else is PostgreSQL's default. Neither a checkpoint nor autovacuum happens while a workload runs: they would come in the
# run of one peer and not in that of another. Each run begins with tables that were just vacuumed or are empty, and is shorter than the
# pause of autovacuum. `jit` would compile the large updates of some peers, which costs them more than it gains.
SETTINGS = {
    "fsync": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "track_commit_timestamp": "on",
    "jit": "off",
}


class Server:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="brocot-bench-"))
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        self.process = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            end(self.process, "the server", signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self):
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        data = str(self.folder / "data")
        self._run(program("initdb"), "-D", data, "-U", "postgres", "--encoding=UTF8", "--locale=C", "--auth=trust")
        settings = SETTINGS | {
            "port": str(self.port), "listen_addresses": "", "unix_socket_directories": str(self.folder),
            "logging_collector": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.log = open(self.folder / "log", "w+b")
        self.process = subprocess.Popen(
            [program("postgres"), "-D", data, *options], stdout=self.log, stderr=self.log, user=self.user, cwd=self.folder)
        self.wait_until_ready()

    def _run(self, *command):
        subprocess.run(command, check=True, user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL)

    def wait_until_ready(self, seconds=300):
        """Also after a crash, when the server recovers."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the server is not ready: {(self.folder / 'log').read_text()[-2000:]}")
                time.sleep(0.05)

    def url(self, database):
        """A local address, without a secret."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def connect(self, database):
        return psycopg.connect(self.url(database), autocommit=True)

    def execute(self, statement, database="postgres"):
        with self.connect(database) as connection:
            connection.execute(statement)

    def kill(self, backend):
        """Kills a session that ignores a cancellation. PostgreSQL then restarts all others."""
        os.kill(backend, signal.SIGKILL)
        time.sleep(1)
        self.wait_until_ready()


def program(name):
    """The path of one of PostgreSQL's programs: those of BROCOT_POSTGRES_BIN, of pg_config, or of the PATH."""
    folders = [os.environ.get("BROCOT_POSTGRES_BIN", "")]
    if shutil.which("pg_config"):
        folders.append(subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip())
    for folder in filter(None, folders):
        if os.access(Path(folder) / name, os.X_OK):
            return str(Path(folder) / name)
    found = shutil.which(name)
    if not found:
        raise SystemExit(f"{name} is missing. Install PostgreSQL's server programs: make dependencies")
    return found
