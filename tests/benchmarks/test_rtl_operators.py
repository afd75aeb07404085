"""Tests of the summary of ``benchmarks.rtl_operators``."""

from __future__ import annotations

from benchmarks.rtl import LARGE_LAYER
from benchmarks.rtl_operators import summary


def row(case: str, cycles: int, estimated: int, exact: bool = True) -> dict[str, object]:
    return {"case": case, "op": case, "cycles": cycles, "estimated": estimated, "exact": exact}


def test_errors_of_large_layers_and_wrong_outputs_are_reported() -> None:
    table, wrong = summary(
        [
            row("ADD", LARGE_LAYER, LARGE_LAYER - 50),
            row("DIV", 2 * LARGE_LAYER, 2 * LARGE_LAYER + 700),
            row("EXP", 100, 50),
            row("RESHAPE", 0, 0),
            row("TILE", 400, 400, exact=False),
        ]
    )
    assert wrong == [
        "TILE: the output is not bit-exact",
        "DIV: DIV takes 20,000 cycles, and the estimate is 20,700",
    ]
    large, small = table.splitlines()[2:]
    assert "| 2 | DIV, 20,000 | +3.50 % | 700 |" in large
    assert "| 2 | EXP, 100 | -50.00 % | 50 |" in small
