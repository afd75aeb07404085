"""Tests of ``tests.frameworks.build`` without a framework: the outputs that it expects and those that it reads."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.firmware.library.libraries import flags, numbers, sources, three_models, write_library_of
from tests.frameworks.build import FRAMEWORKS, compare, expected_outputs, main, printed_rows


@pytest.mark.slow
def test_the_example_prints_the_expected_outputs(tmp_path: Path) -> None:
    models = three_models(tmp_path)
    library = write_library_of(tmp_path / "models", models)
    program = [library / "examples/zephyr/src/main.c", *sources(library), "-o", tmp_path / "it"]
    subprocess.run(["gcc", "-O1", *flags(library / "src"), *map(str, program)], check=True)
    output = subprocess.run([str(tmp_path / "it")], check=True, capture_output=True, text=True).stdout
    assert numbers(output) == expected_outputs(models)


def test_a_framework_without_a_checkout_is_skipped_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, _ in FRAMEWORKS.values():
        monkeypatch.delenv(variable, raising=False)
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(FRAMEWORKS) and all("skipped, because" in line for line in lines)


#: A shell as on a board: it types a prompt in parts, runs a program by name, and never ends.
_SHELL = """
import sys, time
sys.stdout.write("booting 1 2\\r\\nns"); sys.stdout.flush(); time.sleep(0.2)
sys.stdout.write("h> "); sys.stdout.flush()
assert sys.stdin.readline() == "program\\n"
for part in ("program\\r\\n-128 1", "27 \\r\\n3", "\\r\\nnsh> "):
    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.2)
time.sleep(600)
"""


def test_rows_are_read_from_a_shell_that_never_ends() -> None:
    start = time.monotonic()
    rows = printed_rows([sys.executable, "-c", _SHELL], 2, prompt="nsh> ", typed="program")
    assert rows == [[-128, 127], [3]]
    assert time.monotonic() - start < 50


@pytest.mark.slow
def test_a_program_that_prints_too_little_is_ended_and_refused() -> None:
    program = [sys.executable, "-c", "import time; print('7 8', flush=True); time.sleep(600)"]
    rows = printed_rows(program, 2, seconds=3)
    assert rows == [[7, 8]]
    with pytest.raises(SystemExit, match="LiteRT computes"):
        compare("It", rows, [[7, 8], [9]])


def test_the_option_library_writes_a_library_and_builds_nothing(tmp_path: Path) -> None:
    assert main(["--library", str(tmp_path / "models")]) == 0
    assert "config ARENITE_MODELS" in (tmp_path / "models/examples/nuttx/Kconfig").read_text()
