"""Tests that run the tutorials as written: every ``sh`` block, in order, in an empty folder or a copy of the
repository.

A ``console`` block has commands that a test cannot run, because they install packages, need a board or a camera, or end
with Ctrl-C. A block below a paragraph "Write this to `FILE`" becomes that file. A ``diff`` block is applied as a patch.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, tracked

_BLOCK = re.compile(r"(?:Write this to `([\w./-]+)`[^\n]*\n\n)?```(\w+)\n(.*?)```", re.DOTALL)


def script(tutorial: str) -> str:
    """Return the commands of a tutorial as a shell script that stops at the first failure."""
    text = (ROOT / "docs/tutorials" / tutorial).read_text("utf-8")
    lines = ["set -eu"]
    for file, language, code in _BLOCK.findall(text):
        if file:
            lines.append(f"cat > {file} <<'END_OF_FILE'\n{code}END_OF_FILE")
        elif language == "diff":
            lines.append(f"git apply - <<'END_OF_PATCH'\n{code}END_OF_PATCH")
        elif language == "sh":
            lines.append(code)
    return "\n".join(lines)


def run(tutorial: str, folder: Path, package: Path = ROOT) -> str:
    """Run the tutorial's commands in ``folder`` with the package in ``package``, and return their standard output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script(tutorial)],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "160", "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, f"{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout


@pytest.mark.slow
@pytest.mark.qemu
def test_first_model(tmp_path: Path) -> None:
    output = run("first-model.md", tmp_path)
    page = (ROOT / "docs/tutorials/first-model.md").read_text("utf-8")
    # The figures on the page equal those that the commands print.
    for figure in (
        "10 of 10 bit-exact",
        "6,464 (lower bound 6,464, optimal)",
        "7,960 (predicted 7,960)",
    ):
        assert figure in page and figure in output
    # The emulator's timer rounds the count, in a phase that depends on when the first byte arrives.
    stated, measured = (
        [int(count.replace(",", "")) for count in re.findall(r"p50 ([\d,]+)", text)]
        for text in (page, output)
    )
    assert len(stated) == 1 and measured == pytest.approx(stated, abs=20)
    assert (tmp_path / "bench.html").is_file() and (tmp_path / "speech/src/model.c").is_file()


@pytest.mark.slow
@pytest.mark.qemu
def test_first_board(tmp_path: Path) -> None:
    output = run("first-board.md", tmp_path)
    answer = "qemu_netduinoplus2: started; the board answers and runs 'micro_speech' (498e1fbfdcb46af7)"
    assert answer in output and answer in (ROOT / "docs/tutorials/first-board.md").read_text("utf-8")
    assert "idVendor" in (tmp_path / "70-arenite.rules").read_text("utf-8")


@pytest.mark.slow
def test_first_camera(tmp_path: Path) -> None:
    output = run("first-camera.md", tmp_path)
    assert re.search(r"frame \d+: face \d+%", output)
    assert '"kind":"boxes"' in (tmp_path / "answers.jsonl").read_text("utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a copy of the repository's files, without build outputs."""
    copy = tmp_path / "arenite"
    for name in sorted(tracked()):
        source, target = ROOT / name, copy / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return copy


@pytest.mark.slow
def test_add_board(repository: Path) -> None:
    output = run("add-board.md", repository, repository)
    # The new board fits: the model needs about 7,484 of its 49,152 bytes of RAM.
    assert re.search(r"my_l433 +│ yes +│ ~7,484 │ 49,152", output) and " passed" in output
    assert "my_l433" in (repository / "docs/boards.md").read_text("utf-8")


@pytest.mark.slow
def test_add_operator(repository: Path) -> None:
    assert "200 graphs, operator types: 1, mismatches: 0" in run("add-operator.md", repository, repository)
    # The fuzzer must detect a kernel that computes another function.
    kernel = repository / "firmware/engine/elementwise/binary/bitwise_xor.c"
    kernel.write_text(kernel.read_text("utf-8").replace(" ^ ", " | "), "utf-8")
    command = [sys.executable, "-m", "tests.fuzz", "--op", "BITWISE_XOR", "--cases", "5"]
    fuzz = subprocess.run(
        command,
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
    )
    assert fuzz.returncode == 1, fuzz.stdout + fuzz.stderr
