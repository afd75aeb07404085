"""A PostgreSQL server of one's own for tests, in a temporary folder and with a socket instead of a port."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

_TIMEOUT_S = 60.0


def postgresql_programs() -> Path | None:
    """Return the folder with initdb and postgres, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    in_path = shutil.which("initdb")
    folders += [Path(in_path).parent] if in_path else []
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def missing_part() -> str:
    """Return why no server can be used, or an empty text."""
    if postgresql_programs() is None:
        return "no PostgreSQL server (Debian's package postgresql)"
    if importlib.util.find_spec("psycopg") is None:
        return "no psycopg"
    if os.getuid() == 0 and _account() is None:
        return "PostgreSQL does not run as root, and there is no account postgres or nobody"
    return ""


class PostgresqlServer:
    """A server that ``kill`` ends as a crash would, and ``start`` starts again."""

    def __init__(self, folder: Path) -> None:
        programs = postgresql_programs()
        assert programs is not None
        self._programs = programs
        self._folder = folder
        self._account = _account() if os.getuid() == 0 else None
        if self._account is not None:
            os.chown(folder, self._account, -1)
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "arenite", "--no-sync")
        self.start()

    def url(self, name: str) -> str:
        """Create a database if it does not exist, and return its URL."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchall():
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self._url(name)

    def start(self) -> None:
        import psycopg

        self._process = subprocess.Popen(
            [
                self._programs / "postgres",
                "-D",
                self._folder / "data",
                "-k",
                self._folder,
                "-c",
                "listen_addresses=",
                "-c",
                "fsync=off",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self._account,
            cwd=self._folder,
        )
        end = time.monotonic() + _TIMEOUT_S
        while True:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self._url("postgres")):
                return
            assert self._process.poll() is None and time.monotonic() < end, "PostgreSQL did not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """End the server without any chance to write."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(_TIMEOUT_S)
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_TIMEOUT_S)

    def _url(self, name: str) -> str:
        return f"postgresql://arenite@/{name}?host={quote(str(self._folder), safe='')}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            user=self._account,
            cwd=self._folder,
        )


@contextlib.contextmanager
def postgresql_server() -> Iterator[PostgresqlServer]:
    # The path of a socket has at most 107 bytes, so the folder is not one of pytest's.
    folder = Path(tempfile.mkdtemp(prefix="arenite-pg-", dir="/tmp"))
    server = None
    try:
        server = PostgresqlServer(folder)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> int | None:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    return None
