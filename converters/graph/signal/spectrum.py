"""The signal operators from samples to the energies of a spectrum: window, scaling, FFT and energy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.signal.fft16 import real_fft, sine_wave
from arenite.converters.graph.signal.operator import SignalOperator

#: The lengths of an FFT that the kernel computes: the powers of two from the first to the second number.
MIN_FFT, MAX_FFT = 32, 32768
#: The option T of an FFT of int16 numbers: TensorType in the TFLite schema.
_INT16 = 7


class Window(SignalOperator):
    """Multiplies samples by weights, and shifts the products to the right by ``shift`` bits."""

    inputs = (("int16", None), ("int16", 1))
    outputs = (("int16", None),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.weights = self.constant(1, "weights")
        self.shift = self.option("shift", 0, 31)
        count = self.input(0).elements
        self.require_one_shape(self.input(0), self.output())
        self.require(
            count % len(self.weights) == 0,
            f"its input has {count} samples, which is no multiple of {len(self.weights)} weights",
        )

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        samples = values[0].reshape(-1, len(self.weights)).astype(np.int64)
        return (np.clip((samples * self.weights) >> self.shift, -32768, 32767).astype(np.int16),)


class FftAutoScale(SignalOperator):
    """Shifts samples to the left as far as the largest one permits. The second output is the number of bits."""

    inputs = (("int16", 1),)
    outputs = (("int16", 1), ("int32", 0))

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.require_one_shape(self.input(0), self.output())

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        largest = 0
        for value in values[0].tolist():
            # The absolute value of -32768 wraps to -32768, as in the original code.
            if value > largest:
                largest = value
            elif -value > largest:
                largest = -value if value > -32768 else -32768
        bits = 15 - largest.bit_length() if largest > 0 else 0
        return (values[0].astype(np.int64) << bits).astype(np.int16), np.array(bits, np.int32)


class Rfft(SignalOperator):
    """The spectra of rows of real numbers, which are padded with zeros. An output row has pairs of a real and an
    imaginary part."""

    inputs = (("int16", None),)
    outputs = (("int16", None),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        kind = self.option("T", 0, 255)
        self.require(kind == _INT16, f"it has numbers of type {kind}, expected int16 (type {_INT16})")
        self.length = self.option("fft_length", MIN_FFT, MAX_FFT)
        self.require(
            self.length & (self.length - 1) == 0, f"its length is {self.length}, expected a power of two"
        )
        source, target = self.input(0).shape, self.output().shape
        self.require(
            bool(source) and 0 < source[-1] <= self.length, f"its input {list(source)} is longer than the FFT"
        )
        expected = (*source[:-1], self.length + 2)
        self.require(
            target == expected, f"its output has the shape {list(target)}, expected {list(expected)}"
        )

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        rows = values[0].reshape(-1, values[0].shape[-1]).astype(np.int64)
        padded = np.pad(rows, ((0, 0), (0, self.length - rows.shape[1])))
        parts = np.stack(real_fft(padded, sine_wave(self.length)), axis=-1)
        return (parts.reshape(*values[0].shape[:-1], -1).astype(np.int16),)


class Energy(SignalOperator):
    """The squared magnitudes of the complex numbers from ``start`` to ``end``. The others are 0 here. In TensorFlow
    Lite Micro they have no defined value."""

    inputs = (("int16", 1),)
    outputs = (("uint32", 1),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        count = self.output().elements
        self.require(
            self.input(0).elements == 2 * count, f"its input has not {count} pairs of numbers, as its output"
        )
        self.start = self.option("start_index", 0, count)
        self.end = self.option("end_index", self.start, count)

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        parts = values[0].reshape(-1, 2).astype(np.int64)
        energies = (parts * parts).sum(axis=1)
        energies[: self.start] = 0
        energies[self.end :] = 0
        return (energies.astype(np.uint32),)
