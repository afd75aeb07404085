"""Find processes that a test started and that still run, by an environment variable that every descendant inherits."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

MARK = "ARENITE_TEST_MARK"


def marked_processes(mark: str) -> dict[int, str]:
    """Map the number of each running process whose environment has ``MARK=mark`` to its command line.

    Guard processes, which clean up after a process that was killed, are left out, because they end by themselves. They
    are recognized by their shell script (``_GUARD`` in processes.py): it contains ``without()`` and runs ``sleep 0.2``.
    """
    marked = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if (
            f"{MARK}={mark}".encode() in environment
            and "without()" not in command
            and not command.startswith("sleep 0.2")
        ):
            marked[int(folder.name)] = command
    return marked


def wait_until_none_is_left(mark: str, timeout_s: float = 20.0) -> None:
    """Wait until no marked process runs. Kill those that are left after ``timeout_s`` and raise ``AssertionError``."""
    end = time.monotonic() + timeout_s
    while (left := marked_processes(mark)) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"still running: {left}"


def wait_until_removed(folder: Path, timeout_s: float = 20.0) -> None:
    """Wait until ``folder`` does not exist. Raise ``AssertionError`` if it still exists after ``timeout_s``."""
    end = time.monotonic() + timeout_s
    while folder.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not folder.exists()
