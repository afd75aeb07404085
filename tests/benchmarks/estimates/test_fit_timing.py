"""Tests of the fit that computes each kernel's costs from measurements, for timing estimates. The fit recovers known
costs, and kernels without a measurement have an estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arenite.firmware.sizes import timing
from arenite.firmware.sizes.timing import DEFAULTS, KernelCost, cost_of
from benchmarks.estimates.fit_timing import fit, main, read

#: (MACs, output elements) of layers.
SHAPES = [(1000, 50), (90_000, 800), (500, 600), (20_000, 20), (64_000, 6400)]


@pytest.mark.parametrize(
    "cost",
    [
        KernelCost(1.25, 7.5, 300),
        KernelCost(0.5, 0, 90),
        KernelCost(3, 4, 0),
        KernelCost(2, 0, 0),
        KernelCost(0, 31, 40),
    ],
)
def test_the_fit_recovers_known_costs(cost: KernelCost) -> None:
    fitted = fit([(macs, outputs, cost.instructions(macs, outputs)) for macs, outputs in SHAPES])
    assert fitted == pytest.approx(cost, abs=1e-3)


def test_a_single_layer_is_explained_by_its_macs_or_its_outputs() -> None:
    # (MACs, output elements, instructions) of each layer
    assert fit([(100, 10, 250)]) == KernelCost(2.5, 0, 0)
    assert fit([(0, 10, 250)]) == KernelCost(0, 25, 0)


def test_no_cost_is_negative() -> None:
    """The instructions of these layers fall as the layers grow, so a fit without constraints has a negative cost."""
    assert min(fit([(100, 100, 100), (200, 100, 90), (300, 100, 80), (900, 100, 70)])) >= 0


def result(optimise: str, counts: list[int]) -> dict[str, Any]:
    """Return a result of ``arenite bench`` with layers of ``SHAPES`` that execute ``counts`` instructions."""
    layers = [
        {"kernel": "ar_conv_2d_s8_dsp", "macs": m, "shape": f"1x{o}", "instructions": c, "op": "CONV_2D"}
        for (m, o), c in zip(SHAPES, counts, strict=False)
    ]
    layers.append({"kernel": None, "macs": 0, "shape": "1x2", "instructions": 0, "op": "RESHAPE"})
    return {
        "schema": "arenite.bench/1",
        "model": {"path": "m"},
        "board": {"core": "cortex-m4f", "name": "b"},
        "optimise": optimise,
        "inference": {"instructions": {"p50": sum(counts)}},
        "layers": layers,
    }


def test_results_of_all_variants_are_fitted_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fit uses the results of the build for speed and of the build for flash. A run that is in two files counts
    once. Other files in the folder and runs without an instruction count are ignored."""
    cost = KernelCost(1.5, 12, 200)
    counts = [round(cost.instructions(m, o)) for m, o in SHAPES]
    files = {
        "a.json": result("speed", counts),
        "b.json": result("flash", [2 * c for c in counts]),
        "again.json": result("speed", counts),
        "table.json": {"schema": "arenite.table/1"},
        "board.json": result("speed", counts) | {"inference": {"instructions": None}},
    }
    for name, text in files.items():
        (tmp_path / name).write_text(json.dumps(text))
    assert len(read(sorted(tmp_path.glob("*.json")))) == 2
    assert main([str(p) for p in tmp_path.glob("*.json")], tmp_path / "timing.out") == 0
    stored = json.loads((tmp_path / "timing.out").read_text())
    assert stored["cores"]["cortex-m4f"]["ar_conv_2d_s8_dsp"] == pytest.approx(list(cost), rel=1e-2)
    assert stored["cores"]["cortex-m4f"]["ar_conv_2d_s8_dsp -Os"] == pytest.approx(
        [2 * c for c in cost], rel=1e-2
    )
    assert stored["source"].startswith("fitted to 2 runs") and "2 runs" in capsys.readouterr().out


def test_kernels_without_a_measurement_have_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        "a": {"k": KernelCost(1, 2, 3), "small -Os": KernelCost(4, 4)},
        "b": {"k": KernelCost(5, 2, 3), "m": KernelCost(9, 9), "m -Os": KernelCost(11, 9)},
        "c": {"k": KernelCost(2, 2, 3)},
    }
    monkeypatch.setattr(timing, "coefficients", lambda: table)
    assert (cost_of("m", "b", "speed"), cost_of("m", "b", "flash")) == (KernelCost(9, 9), KernelCost(11, 9))
    assert cost_of("k", "a", "flash") == KernelCost(1, 2, 3)  # measured on core a, in the build for speed
    assert cost_of("small", "a", "speed") == KernelCost(4, 4)
    assert cost_of("k", "cortex-m4", "speed") == KernelCost(2, 2, 3)  # the median of the other cores
    assert (
        cost_of("ar_new_s8_dsp", "a", "ram") == cost_of("ar_new_s8_dsp_row", "a", "ram") == DEFAULTS["_dsp"]
    )
    assert cost_of("ar_new_s8", "a", "speed") == DEFAULTS[""]


def test_the_stored_table_has_costs_for_every_core() -> None:
    for core, rows in timing.coefficients().items():
        assert rows, core
        assert all(min(cost) >= 0 and sum(cost) > 0 for cost in rows.values()), core
