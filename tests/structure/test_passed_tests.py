"""A second test run leaves out what passed in the first, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CONFTEST = """
from tests import passed_tests

def pytest_addoption(parser):
    passed_tests.add_options(parser)

def pytest_collection_modifyitems(config, items):
    passed_tests.deselect(config, items)

def pytest_terminal_summary(terminalreporter, config):
    passed_tests.write(config, terminalreporter.stats.get("passed", []))
"""

TESTS = """
import pytest
from hypothesis import given, strategies

def test_passes():
    pass

def test_fails():
    assert False

def test_skips():
    pytest.skip("not here")

@given(strategies.booleans())
def test_examples(value):
    pass
"""


def test_a_second_run_leaves_out_the_tests_that_passed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)

    def run(*options: str) -> str:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            f"--rootdir={tmp_path}",
            str(tmp_path),
        ]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        return subprocess.run(
            [*command, *options], env=environment, cwd=tmp_path, capture_output=True, text=True
        ).stdout

    assert "1 failed, 2 passed, 1 skipped" in run("--write-passed", "passed.txt")
    assert (tmp_path / "passed.txt").read_text().splitlines() == [
        "test_some.py::test_passes",
        "test_some.py::test_examples",
    ]
    assert "1 failed, 1 passed, 1 skipped, 1 deselected" in run("--skip-passed", "passed.txt")
