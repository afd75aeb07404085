"""The number of loads and stores of each tensor is estimated from rates per kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.accesses import (
    ASSUMED_RATES,
    AccessRates,
    InputWork,
    accesses_by_layer,
    estimate_accesses,
    key_of,
    rates,
    rates_of,
    work_of,
)
from arenite.host.build.prepare import prepare
from benchmarks.estimates.fit_accesses import solve
from tests.host.small_graphs import classifier, counter, save


def test_the_work_of_a_layer_has_its_input_bytes_window_elements_and_products(tmp_path: Path) -> None:
    graph = prepare(save(classifier(12, 6), tmp_path / "m.tflite")).model.main
    conv = next(op for op in graph.ops if op.name == "CONV_2D")
    source, out = graph.tensors[conv.inputs[0]], graph.tensors[conv.outputs[0]]
    kernel = graph.tensors[conv.inputs[1]].shape
    window = out.elements // out.shape[-1] * kernel[1] * kernel[2] * kernel[3]
    assert work_of(graph, conv, window * out.shape[-1], 0) == InputWork(
        source.nbytes, window, window * out.shape[-1]
    )
    pool = next(op for op in graph.ops if op.name == "MAX_POOL_2D")
    cells = int(pool.options["filter_height"]) * int(pool.options["filter_width"])
    assert work_of(graph, pool, 0, 0).window == graph.tensors[pool.outputs[0]].nbytes * cells


def test_rates_depend_on_the_kernel_and_the_kind_of_layer() -> None:
    windowed, pointwise = InputWork(100, 900, 9000), InputWork(100, 100, 9000)
    assert key_of("ar_x_row", windowed) == "ar_x" and key_of("ar_x", pointwise) == "ar_x pointwise"
    assert rates_of("ar_conv_2d_s8_dsp", windowed) != rates_of("ar_conv_2d_s8_dsp", pointwise)
    assert rates_of("ar_never_counted", windowed) == ASSUMED_RATES
    assert AccessRates(0.5, 0.25, 0.125, 1.0).loads(InputWork(100, 200, 400)) == 150
    assert all(rate >= 0 for row in rates().values() for rate in row)


def test_every_tensor_is_counted_for_each_layer_that_uses_it(tmp_path: Path) -> None:
    retargeted = prepare(save(classifier(12, 6), tmp_path / "m.tflite")).retarget(
        Target.for_core("cortex-m4f", "speed", False)
    )
    generated = retargeted.generated
    total = estimate_accesses(generated)
    sums: dict[int, float] = {}
    for _, loads, stores in accesses_by_layer(generated):
        for t, count in (*loads.items(), *stores.items()):
            assert count > 0
            sums[t] = sums.get(t, 0) + count
    assert total.tensors == {t: round(n) for t, n in sums.items()}
    assert not total.variables


def test_accesses_of_variables_are_counted(tmp_path: Path) -> None:
    total = estimate_accesses(prepare(save(counter(), tmp_path / "m.tflite")).generated)
    assert total.variables and all(n > 0 for n in total.variables.values())


def test_rates_are_recovered_from_computed_counts() -> None:
    rows = [((n, w, m), 0.25 * n + 0.5 * w) for n, w, m in ((100, 900, 1), (400, 800, 9), (50, 1000, 300))]
    assert solve(rows, 3) == pytest.approx([0.25, 0.5, 0.0])
    assert solve([((10,), 10), ((1000,), 1000)], 1) == pytest.approx([1.0])
