"""Short runs of the differential fuzzer for WebAssembly. ``python -m tests.fuzz.webassembly`` runs long ones."""

from __future__ import annotations

import pytest

from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.long_filters import long_filter_model
from tests.fuzz.webassembly import compare_in_module

pytest.importorskip("wasmtime", reason="needs wasmtime")
pytest.importorskip("ziglang", reason="needs ziglang")
pytestmark = pytest.mark.slow

SEED = 2026
#: Operators that multiply weights, for which there are SIMD kernels.
MULTIPLIED = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]


@pytest.mark.parametrize("core", ["wasm32", "wasm32-simd", "wasm32-relaxed"])
def test_random_graphs_over_all_operators_equal_litert(core: str) -> None:
    ops = sorted(load_all())
    models = [random_model(SEED + 3, k, ops, 2) for k in range(2 * len(ops))]
    mismatches, _ = compare_in_module(models, core, seed=SEED)
    assert not mismatches, "\n".join(map(str, mismatches))


@pytest.mark.parametrize("core", ["wasm32-simd", "wasm32-relaxed"])
@pytest.mark.parametrize("optimise", ["speed", "ram"])
def test_random_products_use_simd_and_equal_litert(optimise: str, core: str) -> None:
    models = [random_model(SEED + 4, k, MULTIPLIED, 3) for k in range(150)]
    mismatches, kernels = compare_in_module(models, core, seed=SEED, optimise=optimise)
    assert not mismatches, "\n".join(map(str, mismatches))
    used = {kernel.removesuffix("_row") for kernel in kernels}
    assert {"ar_conv_2d_s8_simd128", "ar_depthwise_conv_2d_s8_simd128"} <= used
    assert sum("simd128" in kernel for kernel in kernels) > len(kernels) / 3


@pytest.mark.parametrize("core", ["wasm32-simd", "wasm32-relaxed"])
@pytest.mark.parametrize("optimise", ["balanced", "ram"])
def test_convolutions_over_one_column_or_row_equal_litert(optimise: str, core: str) -> None:
    models = [long_filter_model(SEED + 7, k) for k in range(100)]
    mismatches, kernels = compare_in_module(models, core, seed=SEED, optimise=optimise)
    assert not mismatches, "\n".join(map(str, mismatches))
    assert {"ar_conv_2d_s8_simd128", "ar_depthwise_conv_2d_s8_simd128"} <= set(kernels)


def test_random_maxima_use_simd_and_equal_litert() -> None:
    models = [random_model(SEED + 5, k, ["MAX_POOL_2D", "CONV_2D"], 3) for k in range(60)]
    for optimise in ("speed", "ram"):
        mismatches, kernels = compare_in_module(models, "wasm32-simd", seed=SEED, optimise=optimise)
        assert not mismatches, "\n".join(map(str, mismatches))
        assert kernels.count("ar_max_pool_2d_s8_simd128") > 2


def test_random_sums_and_means_use_simd_and_equal_litert() -> None:
    models = [random_model(SEED + 6, k, ["ADD", "SUB", "AVERAGE_POOL_2D"], 3) for k in range(90)]
    for optimise in ("speed", "ram"):
        mismatches, kernels = compare_in_module(models, "wasm32-simd", seed=SEED, optimise=optimise)
        assert not mismatches, "\n".join(map(str, mismatches))
        used = {kernel.removesuffix("_row") for kernel in kernels}
        assert {"ar_add_s8_simd128", "ar_average_pool_2d_s8_simd128"} <= used


def test_fully_connected_layers_of_seven_units_stay_inside_the_module() -> None:
    """The portable kernel reads the weights in the order for this processor."""
    models = [random_model(2, 275, MULTIPLIED, 3)]
    mismatches, kernels = compare_in_module(models, "wasm32-simd", seed=SEED)
    assert kernels == ["ar_fully_connected_s8_scalar"]
    assert not mismatches
