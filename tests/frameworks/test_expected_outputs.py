"""Tests that the examples, compiled for this computer, compute the outputs that ``tests.frameworks.build`` expects."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.firmware.library.libraries import flags, numbers, sources, three_models, write_library_of
from tests.frameworks.build import FRAMEWORKS, expected_outputs, main


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
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(FRAMEWORKS) and all("skipped, because" in line for line in lines)
