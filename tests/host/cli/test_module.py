"""``python -m arenite`` is the command line."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_runs_as_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "arenite", "--version"], capture_output=True, text=True, check=True
    )
    assert "arenite" in result.stdout.lower()
