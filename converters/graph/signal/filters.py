"""The signal operators after the FFT: filter bank, square root, noise reduction, gain control and logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.signal.channels import (
    GAINS,
    NoiseSettings,
    controlled,
    corrected,
    log_table,
    logarithms,
    reduce_noise,
    rounded_root,
)
from arenite.converters.graph.signal.operator import SignalOperator

_MAX_CHANNELS = 65534
_INT32 = (1 << 31) - 1


class FilterBank(SignalOperator):
    """Sums of weighted energies. The energies of part k go to channel k - 1 with their weights, and to channel k with
    their rests (TensorFlow Lite Micro: unweights), if there are such channels. The parts may overlap."""

    inputs = (("uint32", 1), *(("int16", 1),) * 5)
    outputs = (("uint64", 1),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.channels = self.option("num_channels", 1, _MAX_CHANNELS)
        self.weights, self.rests = self.constant(1, "weights"), self.constant(2, "unweights")
        self.starts, self.weight_starts, self.widths = (
            self.constant(k, name).astype(np.int64)
            for k, name in ((3, "frequency starts"), (4, "weight starts"), (5, "widths"))
        )
        self.require(
            self.output().elements == self.channels,
            f"its output has {self.output().elements} channels, expected {self.channels}",
        )
        for table in (self.starts, self.weight_starts, self.widths):
            self.require(
                len(table) == self.channels + 1 and int(table.min()) >= 0,
                f"a table of its parts has not {self.channels + 1} numbers of at least 0",
            )
        self.require(
            len(self.weights) == len(self.rests)
            and int(self.weights.min()) >= 0
            and int(self.rests.min()) >= 0,
            "its weights and unweights have different sizes or are negative",
        )
        ends = int((self.starts + self.widths).max()), int((self.weight_starts + self.widths).max())
        self.require(
            ends[0] <= self.input(0).elements and ends[1] <= len(self.weights),
            "a part is outside of the energies or of the weights",
        )

    def part(self, k: int) -> tuple[slice, slice]:
        """Return the places of part ``k`` among the energies and among the weights."""
        start, weight, width = (int(t[k]) for t in (self.starts, self.weight_starts, self.widths))
        return slice(start, start + width), slice(weight, weight + width)

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        energies = values[0].astype(np.uint64)
        sums, before = [], np.uint64(0)
        for k in range(self.channels + 1):
            at, of = self.part(k)
            sums.append(before + (energies[at] * self.weights[of].astype(np.uint64)).sum())
            before = (energies[at] * self.rests[of].astype(np.uint64)).sum()
        return (np.array(sums[1:], np.uint64),)


class SquareRoot(SignalOperator):
    """The square roots, shifted to the right by the number of bits in the second input."""

    inputs = (("uint64", 1), ("int32", 0))
    outputs = (("uint32", 1),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.require_one_shape(self.input(0), self.output())

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        roots = [rounded_root(value) for value in values[0].tolist()]
        return (np.array(roots, np.uint32) >> np.uint32(int(values[1]) & 31),)


class SpectralSubtraction(SignalOperator):
    """Noise reduction. The second output is the estimate of the noise, which is also the state."""

    inputs = (("uint32", 1),)
    outputs = (("uint32", 1), ("uint32", 1))

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.channels = self.option("num_channels", 1, _MAX_CHANNELS)
        for tensor in (self.input(0), self.output(), self.output(1)):
            self.require(
                tensor.elements == self.channels,
                f"tensor {tensor.index} '{tensor.name}' has {tensor.elements} channels, expected {self.channels}",
            )

        def share(name: str) -> int:
            return self.option(name, 0, _INT32)

        self.settings = NoiseSettings(
            smoothing=(share("smoothing"), share("alternate_smoothing")),
            keeping=(share("one_minus_smoothing"), share("alternate_one_minus_smoothing")),
            min_remaining=share("min_signal_remaining"),
            bits=self.option("spectral_subtraction_bits", 0, 31),
            smoothing_bits=self.option("smoothing_bits", 0, 31),
            clamp=bool(self.option("clamping", 0, 1)),
        )
        self._noise = np.zeros(self.channels, np.int64)

    @property
    def state_bytes(self) -> int:
        return 4 * self.channels

    def reset(self) -> None:
        self._noise[:] = 0

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        out, self._noise = reduce_noise(self.settings, values[0].astype(np.int64), self._noise)
        return out.astype(np.uint32), self._noise.astype(np.uint32)


class Pcan(SignalOperator):
    """Automatic gain control: per-channel amplitude normalization. The second input is the estimate of the noise."""

    inputs = (("uint32", 1), ("uint32", 1), ("int16", 1))
    outputs = (("uint32", 1),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.shift = self.option("snr_shift", 0, 63)
        self.gains = self.constant(2, "table of gains")
        self.require(
            len(self.gains) >= GAINS, f"its table of gains has {len(self.gains)} numbers, expected {GAINS}"
        )
        self.require_one_shape(self.input(0), self.input(1), self.output())

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        signal, noise = (v.astype(np.int64) for v in values[:2])
        return (controlled(signal, noise, self.gains, self.shift).astype(np.uint32),)


class Log(SignalOperator):
    """The natural logarithms times ``scale``, at most 32767. The input is first shifted to the left."""

    inputs = (("uint32", 1),)
    outputs = (("int16", 1),)

    def __init__(self, graph: Subgraph, op: Op) -> None:
        super().__init__(graph, op)
        self.correction = self.option("input_correction_bits", 0, 31)
        self.scale = self.option("output_scale", 0, _INT32)
        self.require_one_shape(self.input(0), self.output())

    @cached_property
    def table(self) -> np.ndarray:
        return log_table()

    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        shifted = corrected(values[0].astype(np.int64), self.correction)
        return (np.minimum(logarithms(shifted, self.table, self.scale), 32767).astype(np.int16),)
