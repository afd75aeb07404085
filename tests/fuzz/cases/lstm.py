"""Random UNIDIRECTIONAL_SEQUENCE_LSTM operators."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import INT8_DEVIATION, GraphBuilder, f32


def one_scale(scale: float, zero_point: int = 0) -> Quantization:
    """Return a per-tensor quantization."""
    return Quantization((f32(scale),), (zero_point,))


def lstm_cell(
    b: GraphBuilder,
    x: int,
    cells: int,
    outputs: int,
    *,
    time_major: bool = False,
    coupled: bool = False,
    peephole: bool = False,
    normalized: bool = False,
    projection: bool = False,
) -> int:
    """Append an LSTM over ``x`` and return its output tensor.

    ``x`` is [batch, time, features], or [time, batch, features] with ``time_major``. ``cells`` and ``outputs`` are the
    sizes of the cell state and of the output.
    """
    rng = b.rng
    shape = b[x].shape
    inputs, batches = shape[2], shape[1 if time_major else 0]
    out_quant = one_scale(float(np.exp(rng.uniform(-5.5, -4))), int(rng.integers(-30, 31)))
    hidden_quant = one_scale(1 / 127, int(rng.integers(-20, 21))) if projection else out_quant
    # Gates compute sigmoid and tanh of sums. These scales keep most sums between -4 and 4.
    input_scale = (
        4 / (b[x].scale * INT8_DEVIATION * INT8_DEVIATION * np.sqrt(inputs)) * np.exp(rng.uniform(-2, 0.5))
    )
    state_product = out_quant.scale[0] * INT8_DEVIATION * INT8_DEVIATION
    recurrent_scale = 4 / (state_product * np.sqrt(outputs)) * np.exp(rng.uniform(-2, 0.5))

    def int8(rows: int, columns: int, scale: float) -> int:
        return b.const(rng.integers(-127, 128, (rows, columns)), "int8", one_scale(scale))

    def int16(scale: float) -> int:
        return b.const(rng.integers(-32767, 32768, cells), "int16", one_scale(scale))

    # The gates are 0 (input), 1 (forget), 2 (cell) and 3 (output). A coupled cell computes the input gate from the
    # forget gate, so it has no tensors for gate 0.
    gates = [g for g in range(4) if g or not coupled]
    # The positions of the inputs are those of LiteRT: 0 is the input, 1 to 4 are input weights, 5 to 8 recurrent
    # weights, 9 to 11 peephole weights, 12 to 15 biases, 16 and 17 weights and bias of the projection, 18 and 19 the
    # output state and the cell state, and 20 to 23 coefficients of layer normalization. -1 is no tensor.
    tensors = [-1] * 24
    tensors[0] = x
    # Scales in real models can also be outside 2**-15 to 2**-9, but there, LiteRT's coupled gates are undefined.
    cell_scale = 2.0 ** int(rng.integers(-15, -8) if coupled else rng.integers(-18, -6))
    if rng.random() < 0.5:
        cell_scale = 2.0**-11
    norm_scale = float(np.exp(rng.uniform(-12, -9.5)))
    for g in gates:
        tensors[1 + g] = int8(cells, inputs, input_scale * float(rng.uniform(0.5, 2)))
        tensors[5 + g] = int8(cells, outputs, recurrent_scale * float(rng.uniform(0.5, 2)))
        bias = 2**12 if normalized else 2**15
        tensors[12 + g] = b.const(rng.integers(-bias, bias, cells), "int32")
        if normalized:
            tensors[20 + g] = int16(norm_scale)
    if peephole:
        for g, position in ((0, 9), (1, 10), (3, 11)):
            if g in gates:
                tensors[position] = int16(float(np.exp(rng.uniform(-14, -9))))
    if projection:
        # With this scale, the stored outputs have a standard deviation of about 40 if that of the hidden state is 30.
        scale = (
            out_quant.scale[0]
            * 127
            * 40
            / (INT8_DEVIATION * 30 * np.sqrt(cells))
            * float(rng.uniform(0.5, 2))
        )
        tensors[16] = int8(outputs, cells, scale)
        if rng.random() < 0.7:
            tensors[17] = b.const(rng.integers(-500, 500, outputs), "int32")
    tensors[18] = b.tensor((batches, outputs), "int8", out_quant, is_variable=True)
    tensors[19] = b.tensor((batches, cells), "int16", one_scale(cell_scale), is_variable=True)
    intermediates = [
        b.tensor((), "int16", one_scale(2.0**-12 * float(rng.uniform(0.5, 3)))) for _ in range(4)
    ]
    intermediates.append(b.tensor((), "int8", hidden_quant))
    y = b.tensor((*shape[:2], outputs), "int8", out_quant)
    b.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        tensors,
        [y],
        "UnidirectionalSequenceLSTMOptions",
        version=3,
        intermediates=intermediates,
        fused_activation_function=4,  # TANH
        time_major=time_major,
        cell_clip=float(rng.choice([0.0, 0.0, 0.5, 4.0])),
        proj_clip=float(rng.choice([0.0, 0.0, 0.3])),
    )
    return y


@case("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(b: GraphBuilder) -> None:
    rng = b.rng
    x = b.pick(("int8",), 3)
    time_major, projection, peephole = (bool(rng.random() < p) for p in (0.4, 0.3, 0.3))
    cells = outputs = int(rng.integers(1, 17))
    if projection:
        # LiteRT reads wrong peephole weights if there are more outputs than cells, or fewer outputs than cells and it
        # computes several batches of a time step together.
        batches_together = time_major and b[x].shape[1] > 1
        max_outputs = cells if peephole else 16
        min_outputs = cells if peephole and batches_together else 1
        outputs = int(rng.integers(min_outputs, max_outputs + 1))
    lstm_cell(
        b,
        x,
        cells,
        outputs,
        time_major=time_major,
        coupled=bool(rng.random() < 0.3),
        peephole=peephole,
        normalized=bool(rng.random() < 0.3),
        projection=projection,
    )
