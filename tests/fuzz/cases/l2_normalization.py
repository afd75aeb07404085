"""Random L2_NORMALIZATION operators."""

from __future__ import annotations

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder


@case("L2_NORMALIZATION")
def l2_normalization(b: GraphBuilder) -> None:
    x = b.pick(("int8",), (1, 2, 3, 4))
    if b.rng.random() < 0.2:  # longer rows, for larger sums
        x = b.input((int(b.rng.integers(1, 4)), int(b.rng.integers(20, 600))), "int8", b.quant("int8"))
    y = b.tensor(b[x].shape, "int8", Quantization((1 / 128,), (0,)))
    b.op("L2_NORMALIZATION", [x], [y], "L2NormOptions", version=2)
