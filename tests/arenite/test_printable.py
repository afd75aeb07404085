"""Control characters in text from outside (files, devices) are escaped before the text is printed on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.live import Live

from arenite.errors import DeviceError
from arenite.host.camera.sinks.writer import to_stderr
from arenite.host.cli.main import COMMANDS, main
from arenite.host.report.console import note, show, table
from arenite.printable import printable, printable_lines
from arenite.safe_console import SafeConsole

HOSTILE = "a\x1b]0;x\x07\x9b2J\u202e\ud800b\r"


def test_control_characters_are_escaped_and_other_text_stays() -> None:
    assert printable(HOSTILE) == "a\\x1b]0;x\\x07\\x9b2J\\u202e\\ud800b\\x0d"
    for text in ("plain", "Gr\u00fc\u00dfe \u65e5\u672c", "no\u00a0break", "\u2588\u2591 \U0001f600"):
        assert printable(text) == text
    assert printable("a\nb\t") == "a\\x0ab\\x09"
    assert printable_lines("a\nb\t\x1b") == "a\nb\t\\x1b"
    assert printable("\U000e0001") == "\\U000e0001"


def test_errors_escape_what_they_quote() -> None:
    error = DeviceError(f"The device is '{HOSTILE}'.", f"Try\n{HOSTILE}")
    for text in (str(error), error.problem, error.hint, error.args[0]):
        assert "\x1b" not in text and "\\x1b" in text
    assert "\n" in error.hint


def test_printed_text_and_tables_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    # The console chose its standard output before pytest captured it, so the console itself is tested below.
    to_stderr(HOSTILE)
    assert capsys.readouterr().err == printable(HOSTILE) + "\n"
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, width=200, highlight=False, markup=False)
    console.print(HOSTILE, style="bold")
    console.print(table(HOSTILE, [HOSTILE, "c"], [[HOSTILE, "1\n2"]]))
    with Live(console=console, transient=True) as live:
        live.update(HOSTILE)
    text = file.getvalue()
    assert "\x1b[1m" in text, "Rich's own sequences must stay"
    assert text.count(printable("\x1b]0;x")) >= 4
    assert "\x1b]" not in text and "\x07" not in text and "\x9b" not in text and "\u202e" not in text


def test_notes_and_results_use_a_safe_console(capfd: pytest.CaptureFixture[str]) -> None:
    note(HOSTILE)
    show(HOSTILE)
    out, err = capfd.readouterr()
    assert "\x1b]" not in out + err


def test_a_traceback_is_escaped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "doctor", (HOSTILE.replace("\ud800", ""), ""))
    assert main(["doctor"]) == 4
    error = capsys.readouterr().err
    assert "This is a bug" in error and "\x1b" not in error
