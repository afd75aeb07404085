"""Tests that the Makefile passes the user's choice of Python to setup.sh."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(("variable", "expected"), [("PYTHON", "python3.99"), ("OTHER", "")])
def test_make_setup_passes_the_python_that_the_user_names(
    variable: str, expected: str, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "setup.sh").write_text('#!/bin/sh\necho "[$PYTHON]"\n')
    (tmp_path / "setup.sh").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    result = subprocess.run(
        ["make", "--no-print-directory", "setup"],
        cwd=tmp_path,
        env=environment | {variable: "python3.99"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == f"[{expected}]\n"
