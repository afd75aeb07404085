"""Short runs of the reader's fuzzer, and tests that it finds a missing check."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arenite.converters.tflite import operator_order, quantization, tensors
from tests.fuzz import hostile_files

pytestmark = pytest.mark.slow

POOL = hostile_files.seeds()


@pytest.mark.parametrize("through", ["reader", "writer", "firmware"])
def test_no_mutant_breaks_a_rule(through: str) -> None:
    cases = {"reader": 6000, "writer": 2000, "firmware": 1200}[through]
    report = hostile_files.run(POOL, cases, seed=7, through=through)
    assert report.violations == []
    assert report.refused + report.accepted == cases
    # The reader accepts at least 5 % of the files and refuses at least half, with many different messages.
    assert report.accepted > cases // 20 and report.refused > cases // 2
    assert len(report.reasons) > 100


def test_equal_case_numbers_give_equal_files() -> None:
    assert hostile_files.mutate(random.Random("7:1"), POOL) == hostile_files.mutate(
        random.Random("7:1"), POOL
    )


def test_a_missing_check_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(quantization, "_check_scale", lambda *_: None)
    report = hostile_files.run(POOL, 2000, seed=7, crashes=tmp_path)
    assert any("scales" in problem for problem in report.violations)
    assert len(list(tmp_path.glob("*.tflite"))) > 0


def test_a_crash_in_the_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(operator_order, "_cycle_error", broken)
    report = hostile_files.run(POOL, 4000, seed=7)
    assert any("ZeroDivisionError" in problem for problem in report.violations)


def test_an_error_without_a_specific_check_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "PACKED_BITS", {})
    report = hostile_files.run(POOL, 4000, seed=7)
    assert any("no specific check" in problem for problem in report.violations)
