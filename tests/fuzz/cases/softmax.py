"""Random SOFTMAX operators."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from arenite.firmware.generator.lower.reduce.softmax import OUTPUT
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder, f32


@case("SOFTMAX")
def softmax(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int8", "int16"), (1, 2, 3, 4))
    add_softmax(b, x, b[x].dtype)


# Alone, because no other operator takes an int16 output with this quantization, except QUANTIZE to int32.
@case("SOFTMAX from int8 to int16", alone=True)
def softmax_int8_to_int16(b: GraphBuilder) -> None:
    add_softmax(b, b.pick(("int8",), (1, 2, 3, 4)), "int16")


def add_softmax(b: GraphBuilder, x: int, dtype: str) -> None:
    """Add a SOFTMAX of tensor ``x`` with an output of type ``dtype``."""
    rng = b.rng
    scale, zero_point = OUTPUT[b[x].dtype, dtype]
    y = b.tensor(b[x].shape, dtype, Quantization((scale,), (zero_point,)))
    beta = 1.0 if rng.random() < 0.5 else f32(np.exp(rng.uniform(-3, 3)))
    if b[x].dtype == "int16":  # with a larger beta, the scaled difference would overflow 32 bits
        beta = min(beta, f32(1 / b[x].scale))
    version = 3 if b[x].dtype == "int16" else 2
    b.op("SOFTMAX", [x], [y], "SoftmaxOptions", version=version, beta=beta)
