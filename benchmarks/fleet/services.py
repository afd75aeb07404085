"""The processes of a simulation: the broker, the server and the devices. Each can be killed, and is started again."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from arenite.errors import ToolError

_TIMEOUT_S = 120.0
#: A broker that knows nothing after a kill, which is the hardest case.
_BROKER_CONFIG = """listener {port} 127.0.0.1
persistence false
max_queued_messages 0
"""


class Broker:
    """A broker on this computer, with the lines ``access`` in its configuration."""

    def __init__(self, folder: Path, port: int, access: tuple[str, ...] = ("allow_anonymous true",)) -> None:
        program = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/usr/local/bin")
        if program is None:
            raise ToolError("There is no mosquitto.", "Install Debian's package mosquitto.")
        self._command = [program, "-c", str(folder / "mosquitto.conf")]
        self._port = port
        config = _BROKER_CONFIG.format(port=port) + "\n".join(access) + "\n"
        (folder / "mosquitto.conf").write_text(config)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + _TIMEOUT_S
        while True:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self._port), 1),
            ):
                return
            if self._process.poll() is not None or time.monotonic() > end:
                raise ToolError("mosquitto does not start.", f"Run {' '.join(self._command)}.")
            time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Server:
    """``arenite fleet serve`` with the clock of the simulation. Its messages go to ``log``."""

    def __init__(
        self, database: str, fleet: str, port: int, clock: Path, log: Path, worker: str = ""
    ) -> None:
        self._command = [
            sys.executable,
            "-m",
            "arenite.host.cli.main",
            "fleet",
            "serve",
            "--database",
            database,
        ]
        self._command += ["--fleet", fleet, "--broker", f"127.0.0.1:{port}", "--clock", str(clock)]
        self._command += ["--worker", worker] if worker else []
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def check(self) -> None:
        """Raise ``ToolError`` if the server has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise ToolError(f"The server has ended: {self._log.read_text()[-2000:]}", "")


class Devices:
    """A process of ``device_process.py``."""

    def __init__(self, settings: dict[str, Any], log: Path) -> None:
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.fleet.device_process", json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._log = log

    def send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for the answer to a command."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ToolError(f"A process of devices has ended: {self._log.read_text()[-2000:]}", "")
        return json.loads(line)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
