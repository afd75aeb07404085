"""Tests of ``arenite monitor`` on a pseudo-terminal: lines with their time, pulled and reconnected cables, Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import DeviceError
from arenite.host.link.line_log import MAX_LINE_BYTES, LineReader, LogLine, readable, watch
from arenite.host.link.transport import PortGoneError


class Cable:
    """A serial cable: ``path`` is a symbolic link to a pseudo-terminal, with a fixed name like /dev/ttyACM0. Each time
    the cable is plugged in, it links to a new pseudo-terminal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plug()

    def plug(self) -> None:
        self.near, far = pty.openpty()
        tty.setraw(far)
        self.path.symlink_to(os.ttyname(far))
        self._far = far

    def pull(self) -> None:
        self.path.unlink()
        os.close(self.near)
        os.close(self._far)

    def say(self, data: bytes) -> None:
        """Send data as the device."""
        os.write(self.near, data)


@pytest.fixture
def cable(tmp_path: Path) -> Iterator[Cable]:
    """Yield a plugged cable, whose port is called ttyACM0."""
    yield Cable(tmp_path / "ttyACM0")


def collect(cable: Cable, expected: int, **options: bool) -> tuple[list[LogLine], list[BaseException]]:
    """Watch the port in a thread; return the list of lines and the list of errors, which the thread extends."""
    lines: list[LogLine] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for line in watch(
                lambda: str(cable.path), 115200, stop=lambda: len(lines) >= expected, **options
            ):
                lines.append(line)
        except DeviceError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return lines, errors


def until(lines: list[LogLine], count: int) -> None:
    """Wait until there are ``count`` lines."""
    end = time.monotonic() + 60
    while len(lines) < count:
        assert time.monotonic() < end, lines
        time.sleep(0.01)


def test_lines_have_the_time_of_their_first_byte(cable: Cable) -> None:
    lines, _ = collect(cable, 4)
    until(lines, 1)
    assert lines[0].event == "connected"
    begin = time.time()
    cable.say(b"boot\r\nhal")
    until(lines, 2)
    middle = time.time()
    cable.say("f\nwärm\n".encode())
    until(lines, 4)
    assert [line.text for line in lines[1:]] == ["boot", "half", "wärm"]
    assert begin - 0.01 <= lines[1].at <= lines[2].at <= middle + 0.01
    assert lines[3].at >= middle - 0.01


def test_a_prompt_without_a_line_end_is_shown(cable: Cable) -> None:
    lines, _ = collect(cable, 2)
    until(lines, 1)
    cable.say(b"PowerShield > ")
    until(lines, 2)
    assert lines[1].text == "PowerShield > "


def test_a_pulled_cable_raises_an_error_and_loses_no_byte(cable: Cable) -> None:
    lines, errors = collect(cable, 99)
    until(lines, 1)
    # The bytes arrive together, so the last words were received when the line before them is there.
    cable.say(b"a line\nlast words")
    until(lines, 2)
    cable.pull()
    end = time.monotonic() + 60
    while not errors:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert isinstance(errors[0], PortGoneError) and "disappeared" in str(errors[0])
    assert [line.text for line in lines[1:]] == ["a line", "last words"]


def test_a_reconnected_cable_is_used_again(cable: Cable) -> None:
    lines, errors = collect(cable, 5, reconnect=True)
    until(lines, 1)
    cable.say(b"one\n")
    until(lines, 2)
    cable.pull()
    until(lines, 3)
    time.sleep(0.3)
    cable.plug()
    until(lines, 4)
    cable.say(b"two\n")
    until(lines, 5)
    assert [line.event or line.text for line in lines] == ["connected", "one", "lost", "connected", "two"]
    assert not errors


def test_a_missing_port_raises_an_error_even_with_reconnect(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="There is no serial port"):
        list(watch(lambda: str(tmp_path / "none"), 115200, reconnect=True))


def test_control_characters_are_escaped() -> None:
    assert readable(b"\x1b[0;32mI (31) boot: ok\x1b[0m") == "I (31) boot: ok"
    assert readable(b"\x1b]0;title\x07\x9b2J\x00\tend") == r"\x1b]0;title\x07\x9b2J\x00" + "\tend"


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_no_byte_is_lost_in_any_chunks(chunks: list[bytes]) -> None:
    ticks = iter(range(10**6))
    reader = LineReader(lambda: float(next(ticks)) / 1000)
    actual = [line.text for chunk in chunks for line in reader.feed(chunk)] + [
        line.text for line in reader.incomplete_line()
    ]
    data = b"".join(chunks)
    lines = data.split(b"\n")
    assert actual == [readable(line.rstrip(b"\r")) for line in (lines if lines[-1] else lines[:-1])]


def test_a_very_long_line_is_split() -> None:
    lines = [line.text for line in LineReader().feed(b"x" * (2 * MAX_LINE_BYTES + 5) + b"\n")]
    assert [len(text) for text in lines] == [MAX_LINE_BYTES, MAX_LINE_BYTES, 5]


def command(*arguments: str) -> list[str]:
    """Return the command ``arenite monitor`` with its arguments."""
    return [sys.executable, "-m", "arenite.host.cli.main", "monitor", *arguments]


def test_ctrl_c_ends_the_monitor(cable: Cable) -> None:
    process = subprocess.Popen(command(str(cable.path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None and process.stdout is not None
    process.stderr.readline()  # connected
    cable.say(b"hello\n")
    assert re.fullmatch(rb"\d\d:\d\d:\d\d\.\d{3}  hello\n", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert b"Traceback" not in process.stderr.read()


def test_with_json_a_program_can_read_the_lines_and_a_pulled_cable_exits_with_code_3(cable: Cable) -> None:
    process = subprocess.Popen(
        command(str(cable.path), "--json", "--baud", "9600"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert first["event"] == "connected" and "9600" in first["text"]
    begin = time.time()
    cable.say(b"t=21\n")
    line = json.loads(process.stdout.readline())
    assert (line["text"], line["event"]) == ("t=21", None)
    assert begin - 0.01 <= line["time_s"] <= time.time() + 0.01
    cable.pull()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "disappeared" in stderr and "Try:" in stderr


def test_the_monitor_ends_after_the_given_time(cable: Cable) -> None:
    process = subprocess.run(
        command(str(cable.path), "--seconds", "0.3"), capture_output=True, text=True, timeout=60
    )
    assert (process.returncode, process.stdout) == (0, "")
