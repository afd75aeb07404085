"""The serial port of an application never waits, drops only complete lines, and tells how many."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.app.compiled_app import compiled
from tests.firmware.app.console_port import PORT


class Console:
    """A console whose port accepts a limited number of bytes."""

    def __init__(self, folder: Path) -> None:
        self._library = compiled(folder, ["console.c"], PORT, {})
        self._library.console_received.restype = ctypes.c_char_p

    def line(self, text: str) -> None:
        """Write a line."""
        self._library.console_begin()
        self._library.console_text(text.encode())
        self._library.console_end()

    def decimal(self, value: int, digits: int) -> str:
        """Return how a number is written."""
        self._library.console_begin()
        self._library.console_decimal(ctypes.c_uint64(value), digits)
        self._library.console_end()
        return self.sent().rstrip("\n")

    def sent(self, room: int = 1 << 30) -> str:
        """Let the port accept ``room`` bytes, and return what was sent."""
        self._library.set_room(room)
        self._library.console_poll()
        data = (ctypes.c_uint8 * 4096)()
        return bytes(data[: self._library.take(data)]).decode()

    def received(self, text: str = "") -> str | None:
        """Let ``text`` arrive, and return the next complete line."""
        if text:
            self._text = ctypes.c_char_p(text.encode())
            self._library.set_incoming(self._text)
        self._library.console_poll()
        line = self._library.console_received()
        return None if line is None else line.decode()

    @property
    def dropped(self) -> int:
        """The number of dropped lines."""
        return int(self._library.console_dropped())


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def test_lines_are_sent_as_the_port_accepts_them(console: Console) -> None:
    console.line("first")
    console.line("second")
    assert console.sent(3) == "fir"
    assert console.sent(5) == "st\nse"
    assert console.sent() == "cond\n"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 0, "0"),
        (12345, 0, "12345"),
        (2**64 - 1, 0, str(2**64 - 1)),
        (5, 3, "0.005"),
        (0, 3, "0.000"),
        (12345, 3, "12.345"),
        (999, 1, "99.9"),
    ],
)
def test_numbers_are_written_in_decimal(value: int, digits: int, text: str, console: Console) -> None:
    assert console.decimal(value, digits) == text


def test_quotients_are_exact(tmp_path: Path) -> None:
    library = compiled(tmp_path, ["console.c"], PORT, {})
    library.console_divide.restype = ctypes.c_uint64
    edges = [1, 2, 9, 10, 2**16, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 10**15, 2**63 - 1]
    rng = np.random.default_rng(6)
    values = [
        *edges,
        0,
        2**63,
        2**64 - 1,
        *(int(v) for v in rng.integers(0, 2**63, 200) >> rng.integers(0, 63, 200)),
    ]
    for value in values:
        for divisor in (*edges, *(int(d) for d in rng.integers(1, 2**40, 10))):
            assert (
                library.console_divide(ctypes.c_uint64(value), ctypes.c_uint64(divisor)) == value // divisor
            )


def test_nobody_reads_the_port(console: Console) -> None:
    """The console drops complete lines, and prints how many as soon as there is room."""
    for k in range(1000):
        console.line(f"event {k}")
    sent = console.sent().splitlines()
    assert sent == [f"event {k}" for k in range(len(sent))]
    assert console.dropped == 1000 - len(sent)
    console.line("back")
    assert console.sent().splitlines() == [f"{1000 - len(sent)} lines were dropped", "back"]
    console.line("next")
    assert console.sent() == "next\n"


def test_a_line_that_is_longer_than_the_buffer_is_dropped(console: Console) -> None:
    console.line("x" * 2000)
    console.line("short")
    assert console.sent().splitlines() == ["1 line was dropped", "short"]


def test_commands_are_complete_lines(console: Console) -> None:
    assert console.received("sta") is None
    assert console.received("tus\r\n\nnext\n") == "status"
    assert console.received() == "next"
    assert console.received() is None
    assert console.received("y" * 100 + "\n") == "y" * 31
