"""Compute the samples of a self-test with LiteRT's reference kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arenite.array_files import read_array
from arenite.converters.graph.index_limits import index_limits
from arenite.converters.graph.model import DTYPES, Tensor
from arenite.converters.graph.trees import is_tree_ensemble
from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.firmware.update.golden import MAX_SAMPLES, GoldenSample, random_bytes
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import (
    Samples,
    load_samples,
    random_samples,
    random_tree_samples,
    samples_of_arrays,
)
from arenite.host.build.prepare import Prepared

#: The number of samples if the user gives none.
DEFAULT_SAMPLES = 3
#: The most random samples from which these are chosen, and the most multiply-accumulates that this may take.
_MAX_CANDIDATES, _MAX_MACS = 64, 200_000_000


def golden_samples(prepared: Prepared, data: Path | None = None) -> list[GoldenSample]:
    """Return the samples of the self-test of ``prepared``.

    ``data`` is an ``.npz`` file as for ``arenite bench`` with ``--data``, or an ``.npy`` file with the array of the
    only input. Its inputs are stored on the device. Without ``data`` there are ``DEFAULT_SAMPLES`` samples with random
    inputs. The device makes them itself if any bytes are valid inputs.

    Raises:
        UsageError: The file cannot be read, does not suit the model, or has more than ``MAX_SAMPLES`` samples.
    """
    graph = prepared.model.main
    tensors = [graph.tensors[index] for index in graph.inputs]
    limits, reference = index_limits(graph), Reference(prepared.reference)
    if data is not None:
        samples = _read(data, tensors)
    elif any(is_tree_ensemble(op) for op in graph.ops):
        samples = random_tree_samples(graph, DEFAULT_SAMPLES)
    elif any(t.index in limits or not _takes_any_bytes(t) for t in tensors):
        samples = random_samples(tensors, DEFAULT_SAMPLES, limits)
    else:
        return _seeded_samples(prepared, reference, tensors)
    return [GoldenSample(_join(inputs), 1, _join(reference.run(inputs))) for inputs in samples.inputs]


def _read(path: Path, tensors: list[Tensor]) -> Samples:
    if path.suffix.lower() == ".npy":
        try:
            array = read_array(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"Cannot read {path}: {error}.", "Write it with numpy.save.") from error
        samples = samples_of_arrays({"x": array}, tensors, path=str(path))
    else:
        samples = load_samples(path, tensors)
    if len(samples) > MAX_SAMPLES:
        raise UsageError(
            f"{path} has {count_of(len(samples), 'sample')}; a self-test has at most {MAX_SAMPLES}.",
            "Write a file with fewer samples: they take flash memory, and time after each start.",
        )
    return samples


def _takes_any_bytes(tensor: Tensor) -> bool:
    dtype = DTYPES[tensor.dtype]
    return dtype is not None and dtype.kind in "iu"


def _seeded_samples(prepared: Prepared, reference: Reference, tensors: list[Tensor]) -> list[GoldenSample]:
    """Return the samples among random ones whose outputs depend most on the weights: those with the most values that
    are not at the end of their range, and then with the most different values. Noise often leads to outputs that are
    saturated, which a wrong weight does not change."""
    count = min(max(_MAX_MACS // max(prepared.macs, 1), DEFAULT_SAMPLES), _MAX_CANDIDATES)
    candidates = []
    for seed in range(1, count + 1):
        outputs = reference.run(_seeded_inputs(tensors, seed))
        inside = sum(_count_inside(output) for output in outputs)
        different = sum(len(np.unique(output)) for output in outputs)
        candidates.append((inside, different, -seed, _join(outputs)))
    best = sorted(candidates, reverse=True)[:DEFAULT_SAMPLES]
    return [GoldenSample(None, -negative, outputs) for _, _, negative, outputs in best]


def _count_inside(output: np.ndarray) -> int:
    """Return the number of values that are not the lowest or the highest of their type."""
    if output.dtype.kind not in "iu":
        return output.size
    limits = np.iinfo(output.dtype)
    return int(np.count_nonzero((output != limits.min) & (output != limits.max)))


def _seeded_inputs(tensors: list[Tensor], seed: int) -> list[np.ndarray]:
    """Return the inputs that the device makes from ``seed``."""
    data, inputs = random_bytes(seed, sum(t.nbytes for t in tensors)), []
    for tensor in tensors:
        values = np.frombuffer(data[: tensor.nbytes], DTYPES[tensor.dtype])
        inputs.append(values.reshape(tensor.shape))
        data = data[tensor.nbytes :]
    return inputs


def _join(arrays: list[np.ndarray]) -> bytes:
    return b"".join(array.tobytes() for array in arrays)
