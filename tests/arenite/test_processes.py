"""Programs that a process started are ended, and its temporary folders removed, when the process ends."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from arenite.processes import Child, run, temporary_folder
from tests.arenite.left_processes import MARK, wait_until_none_is_left, wait_until_removed

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@pytest.fixture
def mark() -> Iterator[str]:
    """Yield a random text with which the processes of a test can be found. Check at the end that none is left."""
    mark = uuid4().hex
    yield mark
    wait_until_none_is_left(mark, 1.0)


def _start(program: str, mark: str, folder: Path) -> subprocess.Popen[str]:
    """Start a Python program whose temporary folders are in ``folder``. Its descendants can be found by ``mark``."""
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {MARK: mark, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_children_that_start_quickly_end_with_the_process(
    end: signal.Signals, mark: str, tmp_path: Path
) -> None:
    program = _WITH_A_GRANDCHILD.replace('1000"])', '1000"], quick_start=True)')
    assert "quick_start" in program
    with _start(program, mark, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(end)
        process.wait()
    wait_until_none_is_left(mark)


_WITH_A_GRANDCHILD = """
import sys, time
from arenite.processes import Child, temporary_folder
with temporary_folder("arenite-a b-") as folder:
    (folder / "file").write_text("x")
    with Child(["sh", "-c", "sleep 1000 & sleep 1000"]) as child:
        print(folder, flush=True)
        time.sleep(1000)
"""


@pytest.mark.parametrize(
    "end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
)
def test_children_grandchildren_and_folders_end_with_the_process(
    end: signal.Signals, mark: str, tmp_path: Path
) -> None:
    with _start(_WITH_A_GRANDCHILD, mark, tmp_path) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "file").exists()
        process.send_signal(end)
        process.wait()
    wait_until_none_is_left(mark)
    wait_until_removed(folder)


_STARTS_MANY = """
import subprocess
from arenite.processes import Child, temporary_folder
print("ready", flush=True)
for k in range(1000):
    folder = temporary_folder()
    folder.__enter__()
    Child(["sleep", "1000"])
"""


@pytest.mark.parametrize("attempt", range(10))
def test_there_is_no_moment_at_which_a_child_survives(attempt: int, mark: str, tmp_path: Path) -> None:
    """A process is killed at a random moment while it starts children, and all of its children end."""
    with _start(_STARTS_MANY, mark, tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(attempt).uniform(0, 0.1))
        process.kill()
        process.wait()
    wait_until_none_is_left(mark)
    end = time.monotonic() + 60
    while list(tmp_path.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())


def test_a_program_that_takes_too_long_is_killed_with_what_it_started(mark: str) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(["sh", "-c", "sleep 1000 & sleep 1000"], timeout=0.2, env=os.environ | {MARK: mark})
    wait_until_none_is_left(mark)


def test_background_processes_of_a_program_end_with_it(mark: str) -> None:
    run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 &"], env=os.environ | {MARK: mark}, timeout=60)
    wait_until_none_is_left(mark)


def test_output_codes_and_signals_are_those_of_the_program() -> None:
    done = run(["sh", "-c", "cat; echo no >&2; exit 3"], input="hi", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "hi", "no\n")
    assert run(["sh", "-c", "kill -TERM $$"]).returncode == -signal.SIGTERM
    with pytest.raises(subprocess.CalledProcessError):
        run(["false"], check=True)
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"])


def test_a_limit_of_memory_holds_for_the_program() -> None:
    code = "x = bytearray(1 << 30)"
    limited = run(
        [sys.executable, "-c", code], limits={resource.RLIMIT_DATA: 256 << 20}, capture_output=True, text=True
    )
    assert limited.returncode == 1 and "MemoryError" in limited.stderr
    assert run([sys.executable, "-c", code]).returncode == 0


def test_children_that_ended_are_forgotten(tmp_path: Path) -> None:
    """The guard process, which cleans up after its parent, must not kill a later process that has the number of an
    earlier child, or remove a later folder that has the path of an earlier one."""
    program = """
import os
from arenite.processes import run, temporary_folder
for k in range(50):
    run(["true"])
with temporary_folder() as folder:
    print(folder)
os.makedirs(folder)  # stands for a folder of another program
"""
    with _start(program, uuid4().hex, tmp_path) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        process.wait()
    time.sleep(0.5)
    assert folder.exists()


def test_a_folder_is_removed_when_its_block_ends() -> None:
    with pytest.raises(RuntimeError), temporary_folder() as folder:
        (folder / "inner").mkdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        raise RuntimeError
    assert not folder.exists()


def test_kill_ends_a_whole_session(mark: str) -> None:
    with Child(["sh", "-c", "sleep 1000 & sleep 1000"], env=os.environ | {MARK: mark}) as child:
        time.sleep(0.1)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    wait_until_none_is_left(mark)
