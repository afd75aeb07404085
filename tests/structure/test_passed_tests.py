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
    """The runs have the options that the Makefile writes, and a folder of tests that pyproject.toml names."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/conftest.py").write_text(CONFTEST)
    (tmp_path / "tests/test_some.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')

    def run(variable: str) -> str:
        options = _options_of_make(f"{variable}=passed.txt")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        completed = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        return completed.stdout + completed.stderr

    assert "1 failed, 2 passed, 1 skipped" in run("WRITE_PASSED")
    assert (tmp_path / "passed.txt").read_text().splitlines() == [
        "tests/test_some.py::test_passes",
        "tests/test_some.py::test_examples",
    ]
    assert "1 failed, 1 passed, 1 skipped, 1 deselected" in run("SKIP_PASSED")


def _options_of_make(variable: str) -> list[str]:
    """The options that ``make test-all`` gives to pytest for this variable."""
    command = ["make", "--dry-run", "--no-print-directory", "test-all", variable]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (run,) = (line for line in lines.splitlines() if "-m pytest" in line)
    return [word for word in run.split() if "-passed" in word]
