"""Real servers that are started twice on one database."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until


class Servers:
    def __init__(self, folder: Path, url: str, port: int) -> None:
        self._folder = folder
        self._arguments = ["fleet", "serve", "--database", url, "--broker", f"127.0.0.1:{port}"]
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *more: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self._folder / f"server-{len(self.processes)}.log"
        with log.open("wb") as file:
            command = [sys.executable, "-m", "arenite.host.cli.main", *self._arguments, *more]
            process = subprocess.Popen(command, stdout=file, stderr=file)
        self.processes.append(process)
        until(lambda: b"Serving" in log.read_bytes() or process.poll() is not None)
        return process, log


@pytest.mark.slow
@needs_broker
@pytest.mark.parametrize("worker", [(), ("--worker", "one")])
def test_the_second_server_of_a_name_ends_with_an_error(
    tmp_path: Path, database_url: str, port: int, worker: tuple[str, ...]
) -> None:
    servers = Servers(tmp_path, database_url, port)
    try:
        first, log = servers.start(*worker)
        second, error = servers.start(*worker)
        assert second.wait(WAIT_S) == 2
        assert "Another `arenite fleet serve`" in error.read_text()
        other, _ = servers.start("--worker", "two")
        assert first.poll() is None and other.poll() is None
        assert "connection was lost" not in log.read_text()
        # A server that was killed leaves no lock.
        first.kill()
        first.wait()
        third, log = servers.start(*worker)
        assert third.poll() is None, log.read_text()
        for process in (other, third):
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) == 0
    finally:
        for process in servers.processes:
            process.kill()
            process.wait()
