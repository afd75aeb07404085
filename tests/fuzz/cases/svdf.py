"""Random SVDF operators."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder, f32


@case("SVDF")
def svdf(b: GraphBuilder) -> None:
    rng = b.rng
    x = b.pick(("int8",), 2)
    batches, inputs = b[x].shape
    rank, units, memory = (int(rng.integers(1, n)) for n in (4, 9, 9))
    filters = rank * units

    def symmetric(low: float, high: float) -> Quantization:
        return Quantization((f32(np.exp(rng.uniform(np.log(low), np.log(high)))),), (0,))

    feature_quant, time_quant = symmetric(1e-3, 0.05), symmetric(1e-6, 1e-3)
    feature = b.const(rng.integers(-127, 128, (filters, inputs)), "int8", feature_quant)
    time = b.const(rng.integers(-32767, 32768, (filters, memory)), "int16", time_quant)
    bias = -1
    if rng.random() < 0.8:
        bias = b.const(rng.integers(-(2**20), 2**20, units), "int32")
    # The products of one filter cover the state's range, and the sums of all time steps cover the output's range.
    spread = b[x].scale * feature_quant.scale[0] * 74 * 74 * np.sqrt(inputs) / 8000
    state_quant = b.quant("int16", scale=f32(spread * np.exp(rng.uniform(-2, 1))))
    state = b.tensor((batches, filters * memory), "int16", state_quant, is_variable=True)
    spread = state_quant.scale[0] * time_quant.scale[0] * 8000 * 18000 * np.sqrt(memory * rank) / 40
    y = b.tensor(
        (batches, units), "int8", b.quant("int8", scale=f32(spread * np.exp(rng.uniform(-1.5, 1.5))))
    )
    b.op(
        "SVDF",
        [x, feature, time, bias, state],
        [y],
        "SVDFOptions",
        version=3,
        rank=rank,
        fused_activation_function=1,
    )
