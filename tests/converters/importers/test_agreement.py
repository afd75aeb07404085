"""The agreement of an import states the differences between the outputs of a source model and its conversion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arenite.converters.importers.agreement import agreement
from arenite.errors import ModelError


def pair(a: list[float], b: list[float]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the outputs of a source model and of its conversion for one sample."""
    return [np.array(a, np.float32)], [np.array(b, np.float32)]


def test_the_differences_of_all_values_are_summarized() -> None:
    result = agreement([pair([3, 4], [3, 4.5]), pair([0, 0], [0, 0])], "a framework")
    assert result is not None and (result.samples, result.max_abs, result.mean_abs) == (2, 0.5, 0.125)
    assert result.sqnr_db == pytest.approx(10 * math.log10(25 / 0.25))


def test_equal_nan_and_infinite_values_are_exact() -> None:
    result = agreement([pair([1, math.nan, math.inf], [1, math.nan, math.inf])], "a framework")
    assert result is not None and result.max_abs == 0 and "exact" in str(result)
    differing = agreement([pair([1, math.nan], [1, 0])], "a framework")
    assert differing is not None and differing.max_abs == math.inf and differing.to_json()["sqnr_db"] is None


def test_an_output_of_another_size_is_a_wrong_conversion() -> None:
    with pytest.raises(ModelError, match=r"shape \(4,\) where a framework gives \(2,\)"):
        agreement([pair([1, 2], [1, 2, 3, 4])], "a framework")


def test_there_is_no_agreement_without_samples() -> None:
    assert agreement([], "a framework") is None
