"""Tests that the sink for JSON lines writes complete lines, writes them soon, and does not delay the loop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.sinks.jsonl import JsonLinesSink
from arenite.host.camera.sinks.writer import LineWriter
from tests.host.camera.dashboard.simulated_run import classes, face, served_of

#: A program that writes lines until it is killed.
_KILLED = """
import itertools, sys
from arenite.host.camera.sinks.jsonl import JsonLinesSink
from tests.host.camera.dashboard.simulated_run import face, served_of
sink = JsonLinesSink(sys.argv[1])
for number in itertools.count():
    sink.take(served_of(number, face(number)), None)
"""


def test_each_frame_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = JsonLinesSink(path)
    frames = [
        served_of(0, face()),
        served_of(1, classes(), late=True, missed=3),
        served_of(2, None, by="cache"),
    ]
    for served in frames:
        sink.take(served, None)
    sink.close()
    sink.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [json.loads(json.dumps(served.to_json())) for served in frames]
    assert lines[1]["late"] is True and lines[1]["missed"] == 3 and lines[2]["answer"] is None
    assert lines[0]["answer"]["boxes"][0]["label"] == "face"


@pytest.mark.slow
def test_lines_reach_the_file_during_the_run(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = JsonLinesSink(path)
    sink.take(served_of(0, face()), None)
    end = time.monotonic() + 60
    while not path.read_bytes() and time.monotonic() < end:
        time.sleep(0.05)
    assert json.loads(path.read_text())["number"] == 0
    sink.close()


@pytest.mark.slow
@pytest.mark.parametrize("min_bytes", [100_000, 4_000_000])
def test_a_killed_run_leaves_complete_lines(tmp_path: Path, min_bytes: int) -> None:
    """The process is killed at a random time, probably during a write."""
    path = tmp_path / "out.jsonl"
    child = subprocess.Popen([sys.executable, "-c", _KILLED, str(path)])
    end = time.monotonic() + 60
    while (not path.exists() or path.stat().st_size < min_bytes) and time.monotonic() < end:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    text = path.read_text()
    numbers = [json.loads(line)["number"] for line in text.splitlines()]
    assert text.endswith("\n") and numbers == list(range(len(numbers))) and len(numbers) > 100


def test_a_minus_as_the_path_means_standard_output() -> None:
    script = (
        "from arenite.host.camera.sinks.jsonl import JsonLinesSink\n"
        "from tests.host.camera.dashboard.simulated_run import served_of\n"
        "s = JsonLinesSink('-'); s.take(served_of(7), None); s.close(); print('after')"
    )
    stdout = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    first, second = stdout.splitlines()
    assert json.loads(first)["number"] == 7 and second == "after"


def test_a_missing_folder_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Cannot write .*out: No such file or directory\. Give a file"):
        JsonLinesSink(tmp_path / "none" / "out")


def test_a_slow_reader_loses_lines_but_delays_nothing(tmp_path: Path) -> None:
    reader, path = _fifo(tmp_path)
    messages: list[str] = []
    writer = LineWriter(path, limit=1000, interval_s=0.01, report=messages.append)
    line = "x" * 99 + "\n"
    for _ in range(5000):  # 500 KB; a pipe holds 64 KB
        writer.write(line)
    assert writer.lost > 0
    written = 5000 - writer.lost
    wait_for_bytes = _drained(reader)
    writer.close()
    assert wait_for_bytes() == line.encode() * written
    assert messages == [f"{path} was too slow: {5000 - written:,} lines were left out."]


def test_without_loss_a_slow_reader_is_waited_for(tmp_path: Path) -> None:
    reader, path = _fifo(tmp_path)
    writer = LineWriter(path, limit=1000, interval_s=0.01, lossless=True)
    line = "x" * 99 + "\n"
    wait_for_bytes = _drained(reader)
    for _ in range(2000):
        writer.write(line)
    writer.close()
    assert wait_for_bytes() == line.encode() * 2000 and writer.lost == 0


def test_a_closed_reader_ends_the_writing_without_a_message(tmp_path: Path) -> None:
    reader, path = _fifo(tmp_path)
    messages: list[str] = []
    writer = LineWriter(path, interval_s=0.01, limit=1000, lossless=True, report=messages.append)
    os.close(reader)
    while writer.failure is None:
        writer.write("x\n")
    writer.write("y\n")
    writer.close()
    assert "Broken pipe" in writer.failure and messages == []


def test_a_full_disk_is_reported_once() -> None:
    messages: list[str] = []
    writer = LineWriter("/dev/full", interval_s=0.01, report=messages.append)
    while writer.failure is None:
        writer.write("x\n")
    writer.write("y\n")
    writer.close()
    assert messages == ["Cannot write /dev/full any more: No space left on device."]


def _fifo(tmp_path: Path) -> tuple[int, Path]:
    """Create a named pipe. Return the file descriptor of its reader, and its path."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK), path


def _drained(reader: int):  # type: ignore[no-untyped-def]
    """Read the pipe ``reader`` to its end in a thread. Return a function that waits for the end and returns the
    bytes."""
    os.set_blocking(reader, True)
    chunks: list[bytes] = []

    def run() -> None:
        while chunk := os.read(reader, 1 << 16):
            chunks.append(chunk)
        os.close(reader)

    thread = threading.Thread(target=run)
    thread.start()

    def result() -> bytes:
        thread.join(60)
        return b"".join(chunks)

    return result
