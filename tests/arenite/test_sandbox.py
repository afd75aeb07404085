"""Tests of what a program in the sandbox can and cannot do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from arenite import sandbox
from arenite.converters.importers.environments import Environment
from arenite.errors import ToolError
from arenite.processes import temporary_folder

PYTHON = Environment("this Python", Path(sys.executable), own=True)

_ATTEMPTS = """
import json, os, socket, sys, tempfile
port, outside, inside = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def works(attempt):
    try:
        attempt()
        return True
    except OSError:
        return False
print(json.dumps({
    "network": works(lambda: socket.create_connection(("127.0.0.1", port), 5)),
    "outside": works(lambda: open(outside, "w").close()),
    "inside": works(lambda: open(inside, "w").close()),
    "temporary": tempfile.gettempdir(),
    "reads": works(lambda: open(sys.argv[0]).close()),
}))
"""


@pytest.fixture(params=["bwrap", "unshare", "none"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the kind of sandbox that the test shall use. Skip the test if this computer does not permit it."""
    command = {"bwrap": ["bwrap", *sandbox._BWRAP], "unshare": list(sandbox._UNSHARE), "none": []}[
        request.param
    ]
    permitted = not command or (
        shutil.which(command[0]) is not None
        and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    )
    if not permitted:
        pytest.skip(f"this computer does not permit {command[0]}")
    monkeypatch.setattr(sandbox, "_permitted", lambda: request.param)
    return str(request.param)


def test_a_sandboxed_program_has_no_network_and_writes_to_its_folder_only(kind: str, tmp_path: Path) -> None:
    script = tmp_path / "attempts.py"
    script.write_text(_ATTEMPTS)
    with socket.create_server(("127.0.0.1", 0)) as server, temporary_folder() as folder:
        port = str(server.getsockname()[1])
        text = PYTHON.run(
            script, port, str(tmp_path / "outside"), str(folder / "inside"), writable=folder, timeout=60
        )
        result = json.loads(text)
        assert result["network"] == (kind == "none")
        assert result["outside"] == (kind != "bwrap") == (tmp_path / "outside").exists()
        assert result["inside"] and result["reads"]
        assert Path(result["temporary"]) == folder


def test_a_sandboxed_program_cannot_take_all_memory(kind: str, tmp_path: Path) -> None:
    script = tmp_path / "greedy.py"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Memory that is mapped but never touched counts for the limit too, so the test needs no real memory.
    script.write_text(f"import mmap\nmmap.mmap(-1, {memory}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n")
    with temporary_folder() as folder, pytest.raises(ToolError, match="Cannot allocate memory"):
        PYTHON.run(script, writable=folder, timeout=60)


def test_a_signal_is_reported_as_a_signal(kind: str, tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    with temporary_folder() as folder, pytest.raises(ToolError, match="ended by signal 9"):
        PYTHON.run(script, writable=folder, timeout=60)


def test_the_sandbox_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENITE_SANDBOX", "off")
    assert sandbox.sandbox_command(["true"], tmp_path) == ["true"]
