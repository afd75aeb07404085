"""Random LOG_SOFTMAX operators."""

from __future__ import annotations

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder


@case("LOG_SOFTMAX")
def log_softmax(b: GraphBuilder) -> None:
    x = b.pick(("int8",), (1, 2, 3, 4))
    if b.rng.random() < 0.3:  # longer rows, for larger sums
        x = b.input((int(b.rng.integers(1, 4)), int(b.rng.integers(20, 600))), "int8", b.quant("int8"))
    y = b.tensor(b[x].shape, "int8", Quantization((1 / 16,), (127,)))
    b.op("LOG_SOFTMAX", [x], [y], "LogSoftmaxOptions", version=2)
