"""Run a command on hostile input in a process of its own, and measure what it did."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from tests.arenite.left_processes import MARK, wait_until_none_is_left

#: The limit of memory that every attack must keep, in bytes, and the limit that the system enforces, so that a command
#: without a check of its own cannot harm this computer.
MAX_MEMORY_BYTES = 500 << 20
_HARD_MEMORY_BYTES = 6 << 30
#: The time in seconds after which a command counts as hanging. Most end in two; a busy computer is slower.
MAX_SECONDS = 120.0
#: The largest file that a command may write.
_MAX_FILE_BYTES = 1 << 30


#: A program that runs the command in its arguments and writes the command's largest memory, in KiB, to a file
#: descriptor. It is small: the system counts the memory of the process that starts a command as the command's own.
_MEASURE = """
import os, resource, sys
pipe = int(sys.argv[1])
os.set_inheritable(pipe, False)
child = os.fork()
if not child:
    os.execv(sys.argv[2], sys.argv[2:])
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
os.write(pipe, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss).encode())
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@dataclass(frozen=True)
class Prepared:
    """A command whose input is prepared: its arguments, and what it needs besides files."""

    arguments: Sequence[object]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Python code that the process runs before the command.
    before: str = ""
    #: Called when the process has ended.
    cleanup: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code (None if it had to be killed), its text, its largest memory in bytes, and the
    files that it changed or made outside of its work folder."""

    code: int | None
    text: str
    peak_bytes: int
    changes: frozenset[str]


def _limit() -> None:
    """Set the limits of the process for memory, file sizes and core dumps."""
    resource.setrlimit(resource.RLIMIT_AS, (_HARD_MEMORY_BYTES, _HARD_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _state(folder: Path) -> set[tuple[str, int, int]]:
    """Return name, size in bytes and modification time in ns of every file below ``folder``. A folder has 0 for
    both."""
    rows = set()
    for path in folder.rglob("*"):
        status = path.lstat()
        rows.add(
            (str(path), 0 if path.is_dir() else status.st_size, 0 if path.is_dir() else status.st_mtime_ns)
        )
    return rows


def run_attack(prepared: Prepared, folder: Path) -> Outcome:
    """Run the ``arenite`` command with ``folder / "work"`` as its current folder. All other files below ``folder`` must
    stay as they are, and its folder for temporary files must be empty afterwards."""
    work, temporary = folder / "work", folder / "temporary"
    for needed_folder in (work, temporary, folder / "home"):
        needed_folder.mkdir(exist_ok=True)
    before = _state(folder)
    mark = uuid4().hex
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ARENITE_")},
        MARK: mark,
        "TMPDIR": str(temporary),
        "ARENITE_STORE": str(work / "store.sqlite"),
        "COLUMNS": "100",
        **({"ARENITE_CACHE": os.environ["ARENITE_CACHE"]} if "ARENITE_CACHE" in os.environ else {}),
        **prepared.environment,
    }
    program = f"{prepared.before}\nfrom arenite.host.cli.main import run\nrun()"
    peak, peak_end = os.pipe()
    process = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _MEASURE,
            str(peak_end),
            sys.executable,
            "-c",
            program,
            *map(str, prepared.arguments),
        ],
        pass_fds=[peak_end],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=_limit,
        start_new_session=True,
    )
    os.close(peak_end)
    assert process.stdout is not None
    parts: list[bytes] = []
    stream = process.stdout
    reader = threading.Thread(
        target=lambda: parts.extend(iter(lambda: os.read(stream.fileno(), 1 << 16), b"")), daemon=True
    )
    reader.start()
    try:
        code = _wait(process.pid)
        with open(peak, "rb") as figure:
            peak_bytes = int(figure.read() or 0) * 1024
        reader.join(30)
        process.returncode = code  # it was waited for already
    finally:
        prepared.cleanup()
    try:
        wait_until_none_is_left(mark, 20.0)
    finally:
        stream.close()
    allowed = (str(work) + os.sep, str(work))
    changes = {name for name, _, _ in _state(folder) ^ before if not (name + os.sep).startswith(allowed[0])}
    return Outcome(code, b"".join(parts).decode("utf-8", "replace"), peak_bytes, frozenset(changes))


def _wait(pid: int) -> int | None:
    """Wait for the process. Return its exit code, or None if it took too long."""
    end = time.monotonic() + MAX_SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None
