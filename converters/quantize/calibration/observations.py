"""Measure the values of each float tensor over calibration samples: observations.

``observe`` runs the float model once per sample. The statistics are enough to choose every scale without the samples.
Some samples are stored as well, because bias correction and the rounding of weights run the model again.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from arenite.array_files import read_arrays
from arenite.converters.graph.model import Model, Subgraph, Tensor
from arenite.converters.graph.resource_variables import variable_reads
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.quantize.calibration.histogram import BINS, Histogram
from arenite.converters.quantize.dataset.states import with_states
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.input_files import parse_json

#: The largest number of samples that are stored, and the largest number of bytes that they may take.
KEPT_SAMPLES = 256
KEPT_BYTES = 64 << 20

#: Tensors with more channels than this have no statistics per channel.
_MAX_CHANNELS = 8192

#: The largest number of steps of a loop in which each step has statistics of its own.
_MAX_STEPS = 128

_SCHEMA = "arenite.observations/1"


class SupportsInputs(Protocol):
    """An object with samples, such as ``Dataset``: ``inputs[k][i]`` is input ``i`` of sample ``k``."""

    @property
    def inputs(self) -> Sequence[Sequence[np.ndarray]]: ...


@dataclass(frozen=True)
class TensorStats:
    """Statistics of the values of one float tensor over all samples."""

    index: int
    name: str
    count: int  # number of values
    low: float  # smallest value
    high: float  # largest value
    mean: float
    rms: float  # root mean square
    exponent: int  # the bins cover [-2**exponent, 2**exponent) evenly
    bins: np.ndarray  # int64 [BINS]
    channel_low: np.ndarray  # float64 [size of the last dimension]; empty for scalars and very wide tensors
    channel_high: np.ndarray
    channel_mean: np.ndarray

    def centers(self) -> np.ndarray:
        """Return the middle of each bin: float64 [BINS]."""
        return Histogram(self.exponent, self.bins).centers()


@dataclass(frozen=True)
class Observations:
    """The statistics of every float32 input and computed float32 tensor of the main subgraph, by tensor index."""

    tensors: Mapping[int, TensorStats]
    samples: int  # number of samples
    model_sha256: str  # hash of the flatbuffer that was observed
    data_sha256: str  # hash of the samples' values, in order
    inputs: tuple[tuple[np.ndarray, ...], ...]  # stored samples, taken at even distances

    def save(self, path: str | Path) -> None:
        """Write an ``.npz`` file atomically. Raises ``UsageError`` if it cannot be written."""
        write_atomic(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the file that ``save`` writes."""
        order = sorted(self.tensors)
        stats = [self.tensors[i] for i in order]
        head = {
            "schema": _SCHEMA,
            "samples": self.samples,
            "model_sha256": self.model_sha256,
            "data_sha256": self.data_sha256,
            "tensors": [[s.index, s.name, s.count, s.low, s.high, s.mean, s.rms, s.exponent] for s in stats],
            "kept": len(self.inputs),
        }
        arrays: dict[str, np.ndarray] = {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)}
        arrays["bins"] = np.array([s.bins for s in stats], np.int64).reshape(len(stats), BINS)
        for s in stats:
            arrays[f"channels_{s.index}"] = np.array([s.channel_low, s.channel_high, s.channel_mean])
        for i in range(len(self.inputs[0]) if self.inputs else 0):
            arrays[f"input_{i}"] = np.stack([sample[i] for sample in self.inputs])
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @staticmethod
    def load(path: str | Path) -> Observations:
        """Read a file that ``save`` wrote. Raises ``UsageError`` if it cannot be read."""
        try:
            arrays = read_arrays(path)
            head = parse_json(arrays["head"].tobytes())
            if head["schema"] != _SCHEMA:
                raise ValueError(f"schema {head['schema']!r}")
            tensors = {}
            for row, bins in zip(head["tensors"], arrays["bins"], strict=True):
                low, high, mean = arrays[f"channels_{row[0]}"]
                tensors[row[0]] = TensorStats(*row[:8], bins, low, high, mean)  # type: ignore[call-arg]
            columns = [arrays[f"input_{i}"] for i in range(sum(n.startswith("input_") for n in arrays))]
            inputs = tuple(tuple(c[k] for c in columns) for k in range(head["kept"]))
            return Observations(tensors, head["samples"], head["model_sha256"], head["data_sha256"], inputs)
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            IndexError,
        ) as error:
            raise UsageError(
                f"Cannot read the observations {path}: {error}.", "Calibrate the model again."
            ) from error


class _TensorAccumulator:
    """Accumulates the statistics of one tensor in float64."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.count, self.sum, self.squares = 0, 0.0, 0.0
        self.histogram = Histogram()
        channels = tensor.shape[-1] if tensor.shape and tensor.shape[-1] <= _MAX_CHANNELS else 0
        self.channel_low = np.full(channels, np.inf)
        self.channel_high = np.full(channels, -np.inf)
        self.channel_sum = np.zeros(channels)

    def add(self, value: np.ndarray, sample: int) -> None:
        """Add the tensor's values for the sample with the index ``sample``."""
        flat = value.reshape(-1)
        if not flat.size:
            return
        largest = float(np.abs(flat).max())
        if not np.isfinite(largest):
            raise UsageError(
                f"Sample {sample} gives values of tensor {self.tensor.index} '{self.tensor.name}' that are not "
                "finite numbers.",
                "Check the sample, and check that the float model gives finite outputs.",
            )
        self.count += flat.size
        self.sum += float(flat.sum(dtype=np.float64))
        self.squares += float(np.square(flat, dtype=np.float64).sum())
        self.histogram.add(flat, largest)
        if self.channel_low.size:
            rows = flat.reshape(-1, self.channel_low.size)
            self.channel_low = np.minimum(self.channel_low, rows.min(axis=0))
            self.channel_high = np.maximum(self.channel_high, rows.max(axis=0))
            self.channel_sum += rows.sum(axis=0, dtype=np.float64)

    def result(self, low: float, high: float) -> TensorStats:
        """Return the statistics. ``low`` and ``high`` are the smallest and the largest value."""
        rows = self.count // max(self.channel_low.size, 1)
        return TensorStats(
            self.tensor.index,
            self.tensor.name,
            self.count,
            low,
            high,
            self.sum / max(self.count, 1),
            float(np.sqrt(self.squares / max(self.count, 1))),
            self.histogram.exponent,
            self.histogram.bins,
            self.channel_low,
            self.channel_high,
            self.channel_sum / max(rows, 1),
        )


def observed_tensors(model: Model) -> list[Tensor]:
    """Return the float32 tensors of the main subgraph that are inputs or computed."""
    g = model.main
    computed_tensors = {*g.inputs, *(i for op in g.ops for i in op.outputs)}
    return [
        t for t in g.tensors if t.index in computed_tensors and t.dtype == "float32" and not t.is_variable
    ]


def _shared_statistics(graph: Subgraph) -> dict[int, int]:
    """Return {tensor: the tensor whose statistics it shares} for each output of an operator that a long loop
    repeats. The tensors of all steps get one scale, and statistics for each of thousands of steps would take too
    much memory."""
    shared: dict[int, int] = {}
    for body in find_repeated_bodies(graph):
        for lane in body.lanes if body.steps > _MAX_STEPS else ():
            for outputs in zip(*(graph.ops[k].outputs for k in lane), strict=True):
                shared |= dict.fromkeys(outputs, min(outputs))
    return shared


def observe(
    flatbuffer: bytes,
    dataset: SupportsInputs,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Observations:
    """Run the float model over every sample and return the statistics of its tensors.

    ``progress`` is called with (number of finished samples, number of samples). A model with resource variables keeps
    its state from each sample to the next.

    Raises ``UsageError`` if there are no samples or a value is not finite, and ``ModelError`` if LiteRT refuses the
    model.
    """
    samples = dataset.inputs
    if not len(samples):
        raise UsageError("There are no calibration samples.", "Give at least one; a hundred is usual.")
    model = parse(flatbuffer)
    if variable_reads(model.main):
        samples = with_states(flatbuffer, samples)
    tensors = {t.index: t for t in observed_tensors(model)}
    shared = _shared_statistics(model.main)
    members: dict[int, list[int]] = {}
    for index in tensors:
        members.setdefault(shared.get(index, index), []).append(index)
    accumulators = [(_TensorAccumulator(tensors[first]), indices) for first, indices in members.items()]
    low = dict.fromkeys(members, np.inf)
    high = dict.fromkeys(members, -np.inf)
    for k, sample_values in enumerate(run_tensor_values(flatbuffer, samples, list(tensors))):
        for accumulator, indices in accumulators:
            first = indices[0]
            value = sample_values[first]
            if len(indices) > 1:
                value = np.concatenate([sample_values[i].reshape(-1) for i in indices])
            accumulator.add(value, k)
            if value.size:
                low[first] = min(low[first], float(value.min()))
                high[first] = max(high[first], float(value.max()))
        if progress is not None:
            progress(k + 1, len(samples))
    results: dict[int, TensorStats] = {}
    for accumulator, indices in accumulators:
        stats = accumulator.result(low[indices[0]], high[indices[0]])
        results |= {i: replace(stats, index=i, name=tensors[i].name) for i in indices}
    digest = hashlib.sha256()
    for sample in samples:
        for array in sample[: len(model.main.inputs)]:
            digest.update(np.ascontiguousarray(array).tobytes())
    return Observations(
        {i: s for i, s in results.items() if s.count},
        len(samples),
        hashlib.sha256(flatbuffer).hexdigest(),
        digest.hexdigest(),
        _calibration_subset(samples),
    )


def _calibration_subset(samples: Sequence[Sequence[np.ndarray]]) -> tuple[tuple[np.ndarray, ...], ...]:
    """Return the samples to store, taken at even distances."""
    size = max(sum(a.nbytes for a in samples[0]), 1)
    count = max(1, min(len(samples), KEPT_SAMPLES, KEPT_BYTES // size))
    return tuple(tuple(samples[k * len(samples) // count]) for k in range(count))
