"""Differences between a source and what was made of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arenite.converters.importers.agreement import agreement
from arenite.errors import ModelError


def pair(a: list[float], b: list[float]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [np.array(a, np.float32)], [np.array(b, np.float32)]


def test_differences_over_all_values() -> None:
    found = agreement([pair([3, 4], [3, 4.5]), pair([0, 0], [0, 0])], "a framework")
    assert found is not None and (found.samples, found.max_abs, found.mean_abs) == (2, 0.5, 0.125)
    assert found.sqnr_db == pytest.approx(10 * math.log10(25 / 0.25))


def test_equal_values_are_exact_also_where_they_are_no_numbers() -> None:
    found = agreement([pair([1, math.nan, math.inf], [1, math.nan, math.inf])], "a framework")
    assert found is not None and found.max_abs == 0 and "exact" in str(found)
    other = agreement([pair([1, math.nan], [1, 0])], "a framework")
    assert other is not None and other.max_abs == math.inf and other.to_json()["sqnr_db"] is None


def test_an_output_of_another_size_is_a_wrong_conversion() -> None:
    with pytest.raises(ModelError, match=r"shape \(4,\) where a framework gives \(2,\)"):
        agreement([pair([1, 2], [1, 2, 3, 4])], "a framework")


def test_nothing_to_compare() -> None:
    assert agreement([], "a framework") is None
