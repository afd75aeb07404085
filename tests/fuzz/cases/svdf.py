"""Random SVDF operators."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import INT8_DEVIATION, GraphBuilder, f32


@case("SVDF")
def svdf(b: GraphBuilder) -> None:
    add_svdf(b, "int16")


@case("SVDF with int8 state", alone=True)
def svdf_int8_state(b: GraphBuilder) -> None:
    for _ in range(int(b.rng.integers(1, 3))):
        add_svdf(b, "int8")


def add_svdf(b: GraphBuilder, memory_type: str) -> None:
    """Add an SVDF whose state and time weights have the type ``memory_type``: int16 or int8."""
    rng = b.rng
    wide = memory_type == "int16"
    x = b.pick(("int8",), 2)
    batches, inputs = b[x].shape
    rank, units, memory = (int(rng.integers(1, n)) for n in (4, 9, 9))
    filters = rank * units

    def symmetric(low: float, high: float) -> Quantization:
        """Return a quantization with zero point 0 and a random scale from ``low`` to ``high``."""
        return Quantization((f32(np.exp(rng.uniform(np.log(low), np.log(high)))),), (0,))

    feature_quant = symmetric(1e-3, 0.05)
    time_quant = symmetric(1e-6, 1e-3) if wide else symmetric(1e-3, 0.05)
    feature = b.const(rng.integers(-127, 128, (filters, inputs)), "int8", feature_quant)
    limit = 32767 if wide else 127
    time = b.const(rng.integers(-limit, limit + 1, (filters, memory)), memory_type, time_quant)
    max_bias = 2**20 if wide else 2**16
    bias_values = rng.integers(-max_bias, max_bias, units) if rng.random() < 0.8 else None
    # The stored state has a standard deviation of about a quarter of ``limit``, and the stored outputs one of about 40.
    spread = (
        b[x].scale * feature_quant.scale[0] * INT8_DEVIATION * INT8_DEVIATION * np.sqrt(inputs) / (limit / 4)
    )
    state_quant = b.quant(memory_type, scale=f32(spread * np.exp(rng.uniform(-2, 1))))
    state = b.tensor((batches, filters * memory), memory_type, state_quant, is_variable=True)
    spread = state_quant.scale[0] * time_quant.scale[0] * limit**2 / 7.5 * np.sqrt(memory * rank) / 40
    bias = -1
    if bias_values is not None:
        bias_quant = Quantization((f32(state_quant.scale[0] * time_quant.scale[0]),), (0,))
        bias = b.const(bias_values, "int32", bias_quant)
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
