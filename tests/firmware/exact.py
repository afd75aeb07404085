"""Compare chosen inputs, not random ones, with LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph import Model
from arenite.converters.image import to_flatbuffer
from arenite.host.bench.native import build
from arenite.host.bench.reference import Reference
from tests.fuzz.builder import GraphBuilder
from tests.fuzz.compare import CACHE, lower

Case = tuple[Model, list[np.ndarray]]


def run_natively(cases: Sequence[Case]) -> list[list[np.ndarray]]:
    """The outputs of every model for its inputs, all compiled at once; the arena is dirty at the start."""
    natives = build([lower(model, f"m{k}_") for k, (model, _) in enumerate(cases)], CACHE)
    results = []
    for native, (_, inputs) in zip(natives, cases, strict=True):
        native.fill_arena(0xA5)
        results.append(native.run(inputs))
    return results


def assert_exact(cases: Sequence[Case]) -> None:
    """Every output byte is LiteRT's."""
    for (model, inputs), got in zip(cases, run_natively(cases), strict=True):
        want = Reference(to_flatbuffer(model)).run(inputs)
        for a, b in zip(want, got, strict=True):
            np.testing.assert_array_equal(b.view(np.uint8), a.view(np.uint8), str(model.main.ops[0]))


def single(
    name: str,
    inputs: Sequence[tuple[tuple[int, ...], str, object]],
    output: tuple[tuple[int, ...], str, object],
    options_type: str = "",
    version: int = 1,
    **options: object,
) -> Model:
    """A model of one operator; each input and the output as (shape, dtype, quantisation)."""
    b = GraphBuilder()
    indices = [b.input(*spec) for spec in inputs]  # type: ignore[arg-type]
    out = b.tensor(*output)  # type: ignore[arg-type]
    b.op(name, indices, [out], options_type, version, **options)  # type: ignore[arg-type]
    return b.build()
