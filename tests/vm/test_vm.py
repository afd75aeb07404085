"""Tests of the V4L2 and USB code in the emulated PC. They take a few minutes, so they run only with ``make
test-vm``."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from arenite.errors import ToolError
from tests.vm.guest_checks import CHECKS
from tests.vm.kernel import missing_tools
from tests.vm.machine import python, run

pytestmark = [
    pytest.mark.vm,
    pytest.mark.skipif(
        os.environ.get("ARENITE_VM") != "1", reason="boots an emulated PC: make test-vm, or ARENITE_VM=1"
    ),
]


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """Run all checks in one emulated PC, and return the results by check name. If the kernel is missing, the tests
    fail and are not skipped, because the user requested them."""
    try:
        result = run(python("-m", "tests.vm.guest_checks"))
    except ToolError as error:
        pytest.fail(f"{error} (missing: {missing_tools()})")
    try:
        rows = json.loads(result.output)
    except ValueError:
        pytest.fail(f"no results; the console ends with:\n{result.console[-4000:]}")
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize("name", [function.__name__ for function in CHECKS])
def test_a_check_passes_in_the_emulated_pc(name: str, results: dict[str, dict[str, Any]]) -> None:
    assert name in results
    row = results[name]
    assert row["ok"], row.get("trace", row["detail"])
