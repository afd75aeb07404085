"""Tests that ``benchmarks.rtl`` compares layers of a measured and an estimated result."""

from __future__ import annotations

import pytest

from benchmarks.rtl import LARGE_LAYER, layer_errors, percent


def test_only_large_layers_are_compared() -> None:
    measured = {
        "layers": [
            {"index": 0, "op": "CONV_2D", "cycles": 2 * LARGE_LAYER},
            {"index": 1, "op": "RESHAPE", "cycles": 0},
            {"index": 2, "op": "SOFTMAX", "cycles": LARGE_LAYER - 1},
            {"index": 3, "op": "ADD", "cycles": LARGE_LAYER},
        ]
    }
    estimated = {
        "layers": [{"cycles": 1.9 * LARGE_LAYER}, {"cycles": 0}, {"cycles": 1}, {"cycles": 1.5 * LARGE_LAYER}]
    }
    (first, conv), (second, add) = layer_errors(measured, estimated)
    assert (first, second) == ("0 CONV_2D", "3 ADD")
    assert (conv, add) == (pytest.approx(-0.05), pytest.approx(0.5))
    assert percent(conv) == "-5.00 %" and percent(add) == "+50.00 %"
