"""After ``arenite bench`` is killed, no build process, no emulator and no temporary folder remains."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from tests.arenite.left_processes import MARK, marked_processes, wait_until_none_is_left

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

#: A part of the command line of each program that the bench starts, in the order of their starts.
PROGRAMS = ("platformio", "gcc", "qemu-system-arm")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_killed_bench_leaves_nothing(
    end: signal.Signals, program: str, model: Path, tmp_path: Path
) -> None:
    mark, temporary = uuid4().hex, tmp_path / "temporary"
    temporary.mkdir()
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "bench",
        str(model),
        "--board",
        "qemu_mps2_an386",
    ]
    command += ["--samples", "2000"]
    environment = os.environ | {MARK: mark, "TMPDIR": str(temporary), "CCACHE_DISABLE": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 120
        while not any(program in text for pid, text in marked_processes(mark).items() if pid != process.pid):
            assert process.poll() is None, f"the bench ended before {program} ran"
            assert time.monotonic() < deadline
        time.sleep(random.Random(program).uniform(0, 0.2))
        process.send_signal(end)
        process.wait()
    wait_until_none_is_left(mark)
    deadline = time.monotonic() + 60
    while (
        left := [p for p in temporary.iterdir() if p.name.startswith("arenite")]
    ) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left
