"""UNIDIRECTIONAL_SEQUENCE_LSTM in integers: int8 values and weights, int16 cell state.

Only the plain form is supported: all four gates, no peepholes, no projection, no layer normalization. The scale of the
cell state is a power of two, as the kernel requires. No tensor has the values of the cell state, so the layer is
simulated in NumPy to find its range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from arenite.converters.graph.model import Op, Quantization, Subgraph
from arenite.converters.tflite.litert.interpreter import run_tensor_values

NAME = "UNIDIRECTIONAL_SEQUENCE_LSTM"

#: The positions of the inputs. The gates are in the order input, forget, cell, output.
INPUT = 0
INPUT_WEIGHTS, RECURRENT_WEIGHTS, BIASES = range(1, 5), range(5, 9), range(12, 16)
OUTPUT_STATE, CELL_STATE = 18, 19
_INPUTS = {INPUT, *INPUT_WEIGHTS, *RECURRENT_WEIGHTS, *BIASES, OUTPUT_STATE, CELL_STATE}

#: The schema's ActivationFunctionType.TANH.
_TANH = 4

#: The largest number of integer bits of the cell state for which the kernels have a tanh.
_MAX_CELL_BITS = 6


def is_supported_lstm(graph: Subgraph, op: Op) -> bool:
    """Return whether ``op`` is a float LSTM of the supported form with batch 1."""
    present = {p for p, i in enumerate(op.inputs) if i >= 0}
    if op.name != NAME or present != _INPUTS or op.options["fused_activation_function"] != _TANH:
        return False
    constants = [graph.tensors[op.inputs[p]] for p in (*INPUT_WEIGHTS, *RECURRENT_WEIGHTS, *BIASES)]
    states = [graph.tensors[op.inputs[p]] for p in (OUTPUT_STATE, CELL_STATE)]
    x = graph.tensors[op.inputs[INPUT]]
    return (
        all(t.is_constant and t.dtype == "float32" for t in constants)
        and all(t.is_variable and t.dtype == "float32" for t in states)
        and len(x.shape) == 3
        and x.shape[1 if op.options["time_major"] else 0] == 1
    )


def cell_quantization(largest: float) -> Quantization:
    """Return the quantization of a cell state whose largest magnitude is ``largest``."""
    bits = int(np.clip(np.ceil(np.log2(max(largest, 1e-6))), 0, _MAX_CELL_BITS))
    return Quantization((2.0 ** (bits - 15),), (0,))


def largest_cell_states(
    flatbuffer: bytes, graph: Subgraph, ops: Sequence[Op], samples: Sequence[Sequence[np.ndarray]]
) -> Mapping[int, float]:
    """Return the largest magnitude of the cell state of each of ``ops`` over all samples and steps, by operator
    index."""
    largest = {op.index: 0.0 for op in ops}
    if not ops:
        return largest
    for sample_values in run_tensor_values(flatbuffer, samples, sorted({op.inputs[INPUT] for op in ops})):
        for op in ops:
            cells, _ = simulate(graph, op, sample_values[op.inputs[INPUT]])
            largest[op.index] = max(largest[op.index], float(np.abs(cells).max(initial=0.0)))
    return largest


def simulate(graph: Subgraph, op: Op, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell states and the outputs after every step, both [steps, units], for the input ``x`` of ``op``."""

    def gate_constants(positions: range) -> list[np.ndarray]:
        return [np.asarray(graph.tensors[op.inputs[p]].data, np.float64) for p in positions]

    inputs, recurrent, biases = (
        gate_constants(INPUT_WEIGHTS),
        gate_constants(RECURRENT_WEIGHTS),
        gate_constants(BIASES),
    )
    clip = op.options["cell_clip"]
    cell = np.zeros(biases[0].shape)
    output = np.zeros(recurrent[0].shape[1])
    cells, outputs = [], []
    for step in x.reshape(-1, x.shape[-1]).astype(np.float64):
        i, f, g, o = (w @ step + r @ output + b for w, r, b in zip(inputs, recurrent, biases, strict=True))
        cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
        cell = np.clip(cell, -clip, clip) if clip > 0 else cell
        output = _sigmoid(o) * np.tanh(cell)
        cells.append(cell)
        outputs.append(output)
    return np.array(cells), np.array(outputs)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))
