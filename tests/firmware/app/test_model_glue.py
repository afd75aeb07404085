"""The header of an application prints the percent that this computer computes."""

from __future__ import annotations

import math
import re

import pytest

from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.firmware.app.model_glue import Scores


def tensor(scale: float, zero: int, dtype: str = "int8") -> Tensor:
    return Tensor(0, "scores", (1, 2), dtype, Quantization((scale,), (zero,)))


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -128), ("uint8", 0)])
def test_a_probability_is_printed_in_percent(dtype: str, zero: int) -> None:
    scores = Scores.of(tensor(1 / 256, zero, dtype), ["yes", "no"])
    assert [scores.percent(score) for score in (-128, 0, 127)] == [0, 50, 100]


def test_a_logit_is_printed_as_the_percent_of_its_sigmoid() -> None:
    scores = Scores.of(tensor(0.1, 3), ["yes", "no"], is_logit=True)
    for score in (-128, -20, 3, 25, 127):
        assert scores.percent(score) == round(100 / (1 + math.exp(-(score - 3) * 0.1)))
    assert scores.percent(3) == 50 and scores.percent(-128) == 0 and scores.percent(127) == 100
    table = re.search(r"percent\[256\] = \{(.*?)\}", scores.percent_function(), re.DOTALL)
    assert table is not None
    values = [int(word) for word in table[1].replace(",", " ").split()]
    assert values == [scores.percent(score) for score in range(-128, 128)]


def test_the_extremes_of_a_coarse_scale_do_not_overflow() -> None:
    scores = Scores.of(tensor(1e6, 0), ["yes", "no"], is_logit=True)
    assert [scores.percent(score) for score in (-128, 0, 127)] == [0, 50, 100]
