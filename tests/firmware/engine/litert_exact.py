"""Compare the outputs of generated C code for chosen inputs with those of LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.firmware.generator.target import PORTABLE, Target
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from tests.fuzz.comparison import CACHE, HOST_TARGETS, lower
from tests.fuzz.graph_builder import GraphBuilder

Case = tuple[Model, list[np.ndarray]]


def run_natively(cases: Sequence[Case], targets: Sequence[Target] = (PORTABLE,)) -> list[list[np.ndarray]]:
    """Compile all models for all targets at once, run each on its inputs and return its outputs.

    The results of all models for the first target come first, then those for the next target. The arena is filled with
    0xA5 before each run.
    """
    models = [
        lower(model, f"m{k}t{t}_", target)
        for t, target in enumerate(targets)
        for k, (model, _) in enumerate(cases)
    ]
    natives = build(models, CACHE)
    results = []
    for native, (_, inputs) in zip(natives, [*cases] * len(targets), strict=True):
        native.fill_arena(0xA5)
        results.append(native.run(inputs))
    return results


def assert_exact(cases: Sequence[Case]) -> None:
    """Check that every output byte equals LiteRT's, for all host targets."""
    for (model, inputs), actual in zip(
        [*cases] * len(HOST_TARGETS), run_natively(cases, HOST_TARGETS), strict=True
    ):
        expected = Reference(to_flatbuffer(model)).run(inputs)
        for a, b in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(b.view(np.uint8), a.view(np.uint8), str(model.main.ops[0]))


def single(
    name: str,
    inputs: Sequence[tuple[tuple[int, ...], str, object]],
    output: tuple[tuple[int, ...], str, object],
    options_type: str = "",
    version: int = 1,
    **options: object,
) -> Model:
    """Return a model of one operator. Give each input and the output as (shape, dtype, quantization)."""
    b = GraphBuilder()
    indices = [b.input(*spec) for spec in inputs]  # type: ignore[arg-type]
    out = b.tensor(*output)  # type: ignore[arg-type]
    b.op(name, indices, [out], options_type, version, **options)  # type: ignore[arg-type]
    return b.build()
