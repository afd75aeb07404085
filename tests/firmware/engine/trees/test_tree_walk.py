"""The kernel for builds that are optimized for speed gives the integers of the NumPy reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arenite
from arenite.converters.graph.trees import TreeEnsemble
from arenite.converters.tflite.image import to_flatbuffer
from arenite.firmware.generator.lower.core.variant import variant_of
from arenite.firmware.generator.lower.trees.tree_walk import walk_words
from arenite.firmware.generator.target import DSP, Target
from arenite.host.build.options import BuildOptions
from tests.firmware.engine.litert_exact import run_natively
from tests.firmware.engine.trees.tree_models import (
    ensemble_with_shared_nodes,
    model_of,
    random_ensemble,
    samples,
)

SPEED = Target("", DSP, "speed")
#: Trees whose code would be large, because leaves have values for several outputs.
CASES: tuple[dict[str, Any], ...] = (
    {"dtype": "int16", "nodes": 100, "trees": 3, "leaves": 300},
    {"dtype": "int8", "nodes": 100, "trees": 3, "leaves": 300, "outputs": 4},
    {"dtype": "int16", "nodes": 60, "trees": 70, "leaves": 900, "outputs": 10},
    {"dtype": "int16", "nodes": 60, "trees": 33, "leaves": 900, "outputs": 13, "width": 7, "features": 300},
    {"dtype": "int8", "nodes": 400, "trees": 2, "leaves": 400, "outputs": 5, "bias": False},
    {"dtype": "int16", "nodes": 50, "trees": 8, "leaves": 200, "outputs": 12},
)


def ensemble_of_case(case: dict[str, Any]) -> tuple[np.random.Generator, TreeEnsemble]:
    """Return a random generator and the ensemble of a case."""
    rng = np.random.default_rng(len(str(case)))
    ensemble = random_ensemble(rng, **case)
    # All values of the leaves differ from 0, so storing only nonzero values as (output, value) pairs saves nothing.
    values = rng.integers(1000, 32767, ensemble.leaves.shape).astype(np.int16)
    return rng, replace(ensemble, leaves=np.where(rng.random(values.shape) < 0.5, values, -values))


def kernel(ensemble: TreeEnsemble, features: int, optimise: str = "speed") -> str:
    """Return the name of the class that lowers the ensemble for DSP, or "" if no such class can."""
    model = model_of(ensemble, features)
    chosen = variant_of(model.main, model.main.ops[0], replace(SPEED, optimise=optimise))
    return "" if chosen is None else type(chosen).__name__


@pytest.mark.parametrize(
    "case",
    # NumPy's reference of a large ensemble takes many seconds.
    [pytest.param(c, marks=pytest.mark.slow) if c.get("trees", 0) > 30 else c for c in CASES],
    ids=str,
)
@pytest.mark.slow
def test_the_portable_kernel_equals_the_reference(case: dict[str, Any]) -> None:
    rng, ensemble = ensemble_of_case(case)
    features = case.get("features", 5)
    assert kernel(ensemble, features) == "TreeEnsembleWalk"
    model = model_of(ensemble, features)
    cases = [(model, [x]) for x in samples(rng, ensemble, 5 if case.get("trees", 0) > 30 else 20, features)]
    for (_, (x,)), result in zip(cases, run_natively(cases, [SPEED]), strict=True):
        np.testing.assert_array_equal(result[0][0], ensemble.evaluate(x))


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("board", ["qemu_mps2_an386", "qemu_mps3_an547"])
def test_a_board_computes_the_reference(case: dict[str, Any], board: str, tmp_path: Any) -> None:
    """The build also has the predicted size."""
    rng, ensemble = ensemble_of_case(case)
    features = case.get("features", 5)
    path = tmp_path / "trees.tflite"
    path.write_bytes(to_flatbuffer(model_of(ensemble, features)))
    x = np.concatenate(samples(rng, ensemble, 40, features))
    result = arenite.bench(path, board, data={"x": x[:, None]}, build=BuildOptions(optimise="speed"))
    assert result.bit_exact
    report = result.to_json()
    name = "s16" if case["dtype"] == "int16" else "s8"
    assert [layer["kernel"] for layer in report["layers"]] == [f"ar_tree_walk_{name}_dsp"]
    assert report["flash"]["total"] == report["flash"]["predicted_total"]


def test_builds_for_other_goals_do_not_use_the_fast_kernel() -> None:
    _, ensemble = ensemble_of_case(CASES[0])
    assert kernel(ensemble, 5, "balanced") == kernel(ensemble, 5, "flash") == ""


def test_trees_that_are_too_large_for_16_bit_words_are_refused() -> None:
    assert walk_words(ensemble_with_shared_nodes(), 2) is None
    large = random_ensemble(np.random.default_rng(0), nodes=7000, trees=1, leaves=7000)
    assert walk_words(large, 2) is None
    small = random_ensemble(np.random.default_rng(0), nodes=2000, trees=1, leaves=2000)
    words = walk_words(small, 2)
    assert words is not None and words[0] == len(words) - 1 == 3 * 2000 + 2 * 2001
