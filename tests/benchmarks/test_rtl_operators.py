"""Estimated cycles of all operators are near those that simulated RTL measures (``benchmarks.rtl_operators``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.rtl import LARGE_LAYER
from benchmarks.rtl_operators import compare, joined, summary
from tests.fuzz.cases import load_all
from tests.host.emulator.rtl.verilator import needs_verilator


def row(op: str, cycles: int, estimated: int, exact: bool = True) -> dict[str, object]:
    return {"op": op, "cycles": cycles, "estimated": estimated, "exact": exact}


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
        "TILE: an output is not bit-exact",
        "DIV takes 20,000 cycles, and the estimate is 20,700",
    ]
    large, small = table.splitlines()[2:]
    assert "| 2 | DIV, 20,000 | +3.50 % | 700 |" in large
    assert "| 2 | EXP, 100 | -50.00 % | 50 |" in small


@pytest.mark.slow
@pytest.mark.qemu
@needs_verilator
def test_all_operators_are_exact_and_take_nearly_the_estimated_cycles(tmp_path: Path) -> None:
    rows = [
        row for model in joined(sorted(load_all()), 0) for row in compare(model, "rtl_cv32e40p", tmp_path)
    ]
    assert len({row["op"] for row in rows}) > 90
    assert summary(rows)[1] == []
