"""Keys of a terminal choose the labels of the clips of `arenite record`. The terminal is a real pseudo-terminal, and
another one is the serial port, on which the test sends messages as an application does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arenite.host.link.frames import encode_frame
from arenite.host.live.messages import Sensor, Type

pytestmark = pytest.mark.slow
#: Seconds for which an answer is waited for: a busy computer makes the command slow.
_WAIT_S = 600.0
WINDOW = 50
_ARENITE = (sys.executable, "-c", "from arenite.host.cli.main import main; raise SystemExit(main())")


class Terminal:
    """A terminal with a running command. ``text`` is what the command has printed so far."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.keyboard, terminal = pty.openpty()
        self.before = termios.tcgetattr(self.keyboard)
        self.process = subprocess.Popen(
            [*_ARENITE, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._terminal = terminal
        self.text = ""

    def press(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def until(self, text: str, count: int = 1) -> None:
        """Wait until ``text`` was printed ``count`` times."""
        end = time.monotonic() + _WAIT_S
        while self.text.count(text) < count:
            assert time.monotonic() < end, f"{text!r} was not printed: {self.text}"
            if select.select([self.keyboard], [], [], 0.2)[0]:
                self.text += os.read(self.keyboard, 4096).decode("utf-8", "replace")

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._terminal)
        os.close(self.keyboard)


class Device:
    """A serial port on which the samples of one channel are sent."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self._number, self.at = terminal, 0, 0

    def wait_for(self, command: bytes) -> None:
        received = b""
        end = time.monotonic() + _WAIT_S
        while command not in received:
            assert time.monotonic() < end, received
            if select.select([self._terminal], [], [], 0.2)[0]:
                received += os.read(self._terminal, 100)

    def send(self, kind: Type, form: int, data: bytes) -> None:
        os.write(self._terminal, encode_frame(bytes([kind, form]) + struct.pack("<H", self._number) + data))
        self._number += 1

    def describe(self, *classes: str) -> None:
        numbers = (100, WINDOW, WINDOW, 1_000_000, 500_000)
        self.send(Type.HELLO, 1, struct.pack("<BBHIIIIIHH", Sensor.ANALOG, 1, len(classes), *numbers, 0, 0))
        for index, name in enumerate(classes):
            self.send(Type.CLASS, 0, struct.pack("<H", index) + name.encode())

    def samples(self, count: int) -> None:
        """Send ``count`` samples, whose values are their indices."""
        for at in range(self.at, self.at + count, 25):
            values = np.arange(at, min(at + 25, self.at + count)).astype("<i2")
            self.send(Type.SAMPLES, 1, struct.pack("<Q", at) + values.tobytes())
        self.at += count


@contextlib.contextmanager
def _device() -> Iterator[tuple[Device, str]]:
    """Yield a device and the path of its port."""
    side, terminal = pty.openpty()
    try:
        yield Device(side), os.ttyname(terminal)
    finally:
        os.close(side)
        os.close(terminal)


def test_keys_choose_the_label_of_the_clips_that_follow(tmp_path: Path) -> None:
    with _device() as (device, port):
        terminal = Terminal(["record", port, "-o", "field"], tmp_path)
        try:
            device.wait_for(b"binary samples\n")
            device.describe("hum", "click")

            def record(count: int) -> None:
                """Send samples, and a line of text that the command prints after it has taken them."""
                device.samples(count)
                device.send(Type.TEXT, 0, f"sample {device.at}".encode())
                terminal.until(f"sample {device.at}")

            record(WINDOW + 20)  # no key was pressed yet
            terminal.press("1")
            terminal.until("Label: hum")
            record(2 * WINDOW + 10)  # the last ten are no clip: the label changes in it
            terminal.press("12")  # both at once
            terminal.until("Label: click")
            record(WINDOW)
            terminal.press("790")  # there are no classes 7 and 9
            terminal.until("Paused: clips are not stored.")
            record(4 * WINDOW)
            terminal.press("1")
            terminal.until("Label: hum", 3)
            record(WINDOW)
            terminal.press("\x03")  # Ctrl-C
            terminal.until("clips stored: 1 click, 3 hum")
            assert terminal.process.wait(_WAIT_S) == 0
            assert termios.tcgetattr(terminal.keyboard)[3] == terminal.before[3]
        finally:
            terminal.end()
    starts = {
        label: sorted(int(np.load(path)[0, 0]) for path in (tmp_path / "field" / label).iterdir())
        for label in ("hum", "click")
    }
    first = WINDOW + 20
    second = first + 2 * WINDOW + 10
    assert starts == {"hum": [first, first + WINDOW, second + 5 * WINDOW], "click": [second]}


def test_a_terminal_or_a_label_is_needed(tmp_path: Path) -> None:
    with _device() as (_, port):
        arguments = [*_ARENITE, "record", port, "-o", "field"]
        answer = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert answer.returncode == 2
    assert "The clips have no label." in answer.stderr and "--per-event" in answer.stderr
