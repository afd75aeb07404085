"""The tutorials run as they are written: every ``sh`` block, in order, in an empty folder.

A ``console`` block has what a test cannot do: install packages, need a board or a camera, or end with Ctrl-C. A block
below a paragraph "Write this to `FILE`" becomes that file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

_BLOCK = re.compile(r"(?:Write this to `([\w./-]+)`[^\n]*\n\n)?```(\w+)\n(.*?)```", re.DOTALL)


def script(tutorial: str) -> str:
    """The commands of a tutorial as one shell script that stops at the first that fails."""
    text = (ROOT / "docs/tutorials" / tutorial).read_text("utf-8")
    lines = ["set -eu"]
    for file, language, code in _BLOCK.findall(text):
        if file:
            lines.append(f"cat > {file} <<'END_OF_FILE'\n{code}END_OF_FILE")
        elif language == "sh":
            lines.append(code)
    return "\n".join(lines)


def run(tutorial: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script(tutorial)],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.qemu
def test_first_model(tmp_path: Path) -> None:
    shown = run("first-model.md", tmp_path)
    page = (ROOT / "docs/tutorials/first-model.md").read_text("utf-8")
    # The figures that the page shows are those that the commands print.
    for figure in (
        "10 of 10 bit-exact",
        "p50 527,987",
        "6,464 (lower bound 6,464, optimal)",
        "7,204 (predicted 7,204)",
    ):
        assert figure in page and figure in shown
    assert (tmp_path / "bench.html").is_file() and (tmp_path / "speech/src/model.c").is_file()


@pytest.mark.qemu
def test_first_board(tmp_path: Path) -> None:
    shown = run("first-board.md", tmp_path)
    answer = "qemu_netduinoplus2: started; it answers and runs 'micro_speech' (f7fdce2c27255efc)"
    assert answer in shown and answer in (ROOT / "docs/tutorials/first-board.md").read_text("utf-8")
    assert "idVendor" in (tmp_path / "70-arenite.rules").read_text("utf-8")


def test_first_camera(tmp_path: Path) -> None:
    shown = run("first-camera.md", tmp_path)
    assert re.search(r"frame \d+: face \d+%", shown)
    assert '"kind":"boxes"' in (tmp_path / "answers.jsonl").read_text("utf-8")
