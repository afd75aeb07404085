"""Every coverage-guided fuzz target runs for two minutes, or for ``$FUZZ_TEST_SECONDS``. ``make fuzz`` runs the targets
for a longer time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.coverage import __main__ as coverage
from tests.fuzz.coverage.c_sources import C_TARGETS
from tests.fuzz.coverage.corpora import CORPORA
from tests.fuzz.coverage.python_targets import PYTHON_TARGETS
from tests.fuzz.coverage.tools import missing_tool

#: Seconds for each target.
SECONDS = int(os.environ.get("FUZZ_TEST_SECONDS", "120"))
#: The number of inputs that even a busy computer reaches in that time: 50 in two minutes.
MIN_INPUTS = max(1, 50 * SECONDS // 120)


def test_every_target_has_a_corpus() -> None:
    assert sorted(CORPORA) == sorted([*C_TARGETS, *PYTHON_TARGETS])
    assert all(list(make()) for make in CORPORA.values())


@pytest.mark.parametrize("name", sorted(PYTHON_TARGETS))
def test_python_targets_accept_every_seed_input(name: str) -> None:
    run = PYTHON_TARGETS[name]()
    for data in (*CORPORA[name](), b"", b"\0"):
        run(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CORPORA))
def test_fuzzing_a_target_finds_no_error(name: str, tmp_path: Path) -> None:
    if missing := missing_tool(name):
        pytest.skip(missing)
    result = coverage.fuzz(name, tmp_path, seconds=SECONDS)
    assert not result.error, result.error
    assert result.inputs >= MIN_INPUTS
