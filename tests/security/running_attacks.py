"""Attacks on commands that run for some time: devices, brokers, readers of the output, and the clock."""

from __future__ import annotations

import os
import pty
import socket
import threading
import tty
from collections.abc import Callable
from pathlib import Path

from tests.security.attack import Attack
from tests.security.attack_runner import Prepared
from tests.security.setting_attacks import Make, model

#: Runs before the command: every call of the wall clock jumps a year forward or back.
_JUMPING_CLOCK = """
import itertools, time
_true, _jumps = time.time, itertools.cycle((0, 31536000, -31536000, 2**40, -2**30))
time.time = lambda: _true() + next(_jumps)
time.time_ns = lambda: int(time.time() * 1e9)
"""
CAMERA = ("camera", "--source", "synthetic", "--frames", "30", "--pace", "file")


def camera(*more: object, before: str = "") -> Make:
    """Return a function that returns a camera command with the arguments ``more``. ``before`` is Python code that runs
    first."""
    return lambda work: Prepared([*CAMERA, "--model", model(work), *more], before=before)


def slow_reader(work: Path) -> Prepared:
    """Return a camera command whose ``--output`` is a named pipe. A thread reads a byte of it every 50 ms, and closes
    it before the command ends."""
    path = work / "answers.jsonl"
    os.mkfifo(path)

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            for _ in range(40):
                file.read(1)
                threading.Event().wait(0.05)

    threading.Thread(target=read, daemon=True).start()
    return Prepared([*CAMERA, "--model", model(work), "--output", path])


def device(flood: Callable[[], bytes], *arguments: object) -> Make:
    """Return a function that starts a device on a pseudo-terminal, which sends the results of ``flood`` without end,
    and returns ``arguments`` with DEVICE replaced by its port."""

    def make(work: Path) -> Prepared:
        near, far = pty.openpty()
        tty.setraw(far)
        ending = threading.Event()

        def send() -> None:
            while not ending.is_set():
                try:
                    os.write(near, flood())
                except OSError:
                    return

        thread = threading.Thread(target=send, daemon=True)
        thread.start()

        def close() -> None:
            ending.set()
            os.close(far)
            thread.join(5)
            os.close(near)

        port = os.ttyname(far)
        values = [port if a == "DEVICE" else model(work) if a == "MODEL" else a for a in arguments]
        return Prepared(values, cleanup=close)

    return make


def broker(answer: bytes) -> Make:
    """Return a function that starts an MQTT broker, which sends ``answer`` a thousand times over every connection, and
    returns a camera command that uses it."""

    def make(work: Path) -> Prepared:
        server = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    try:
                        for _ in range(1000):
                            connection.sendall(answer)
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
        url = f"mqtt://127.0.0.1:{server.getsockname()[1]}/topic"
        return Prepared([*CAMERA, "--model", model(work), "--mqtt", url], cleanup=server.close)

    return make


RUNNING_ATTACKS = [
    Attack("clock-jumps-in-the-camera", 0, [], camera(before=_JUMPING_CLOCK)),
    Attack("slow-reader-of-the-output", 0, [], slow_reader),
    Attack("output-is-full", 0, [], camera("--output", "/dev/full")),
    Attack(
        "device-sends-noise-to-bench",
        3,
        [],
        device(lambda: os.urandom(256), "bench", "MODEL", "--board", "nucleo_l4r5zi", "--port", "DEVICE"),
    ),
    Attack(
        "device-sends-terminal-codes-to-monitor",
        0,
        [],
        device(lambda: b"\x1b]0;owned\x07\x1b[2J" * 10 + b"\n", "monitor", "DEVICE", "--seconds", "2"),
    ),
    Attack(
        "device-sends-a-line-without-end",
        0,
        [],
        device(lambda: b"A" * 4096, "monitor", "DEVICE", "--seconds", "2"),
    ),
    Attack("broker-sends-noise", 0, [], broker(bytes(range(256)))),
    Attack("broker-states-256-megabytes", 0, [], broker(b"\x30\xff\xff\xff\x7f" + bytes(4096))),
]
