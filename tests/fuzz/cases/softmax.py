"""Random SOFTMAX operators."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder, f32


@case("SOFTMAX")
def softmax(b: GraphBuilder) -> None:
    rng = b.rng
    x = b.pick(("int8", "int8", "int16"), (1, 2, 3, 4))
    int8 = b[x].dtype == "int8"
    yq = Quantization((1 / 256,), (-128,)) if int8 else Quantization((1 / 32768,), (0,))
    y = b.tensor(b[x].shape, b[x].dtype, yq)
    beta = 1.0 if rng.random() < 0.5 else f32(np.exp(rng.uniform(-3, 3)))
    if b[x].dtype == "int16":  # with a larger beta, the scaled difference would overflow 32 bits
        beta = min(beta, f32(1 / b[x].scale))
    b.op("SOFTMAX", [x], [y], "SoftmaxOptions", version=2 if int8 else 3, beta=beta)
