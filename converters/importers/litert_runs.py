"""Run a converted model in LiteRT, and create the samples on which it is compared with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, cast

import numpy as np

from arenite.converters.graph.index_limits import index_limits
from arenite.converters.graph.model import DTYPES, Model, Tensor
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.errors import ModelError, UsageError

#: The number of random samples per comparison, and the maximum number of the user's samples that are compared too.
RANDOM_SAMPLES = 8
GIVEN_SAMPLES = 64


def litert_version() -> str:
    return version("ai-edge-litert")


def random_inputs(model: Model, count: int = RANDOM_SAMPLES) -> list[list[np.ndarray]]:
    """Return ``count`` samples, each a list with one array per input, from NumPy's ``default_rng(0)``.

    Floats are in [-1, 1). Quantized inputs cover the range of their type. Indices into a table, such as the tokens of
    an embedding, cover the whole table. Other integers and booleans are 0 or 1.
    """
    rng = np.random.default_rng(0)
    g = model.main
    limits = index_limits(g)
    return [[_random(g.tensors[i], limits.get(i), rng) for i in g.inputs] for _ in range(count)]


def _random(t: Tensor, limit: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return random values for the input ``t``. ``limit`` is the number of valid indices if the values are indices."""
    dtype = DTYPES[t.dtype]
    if dtype is None:
        raise ModelError(
            f"Input '{t.name}' is of type {t.dtype}, for which Arenite cannot make random values.",
            "Use a model with numeric inputs.",
        )
    if t.dtype in ("int8", "uint8", "int16") and t.quant is not None:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, t.shape, dtype, endpoint=True)
    if limit is not None:
        return rng.integers(0, limit, t.shape).astype(dtype)
    if dtype.kind == "f":
        return (rng.random(t.shape) * 2 - 1).astype(dtype)
    return rng.integers(0, 2, t.shape).astype(dtype)


def batch_notes(model: Model) -> tuple[str, ...]:
    """Return a sentence for each input whose first dimension, usually the batch, is not 1."""
    g = model.main
    return tuple(
        f"Input '{t.name}' has the shape {list(t.shape)}: if its first dimension is a batch, export the model with a "
        "batch of 1."
        for t in (g.tensors[i] for i in g.inputs)
        if t.shape and t.shape[0] != 1
    )


def typed_samples(model: Model, samples: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Return the first ``GIVEN_SAMPLES`` samples with the types of the model's inputs. Raises ``UsageError`` for a
    wrong number of arrays or a wrong shape."""
    g = model.main
    typed_inputs = []
    for number, sample in enumerate(samples[:GIVEN_SAMPLES]):
        if len(sample) != len(g.inputs):
            raise UsageError(
                f"Sample {number} has {len(sample)} arrays, but the model has {len(g.inputs)} inputs.",
                "Give one array per input.",
            )
        row = []
        for i, value in zip(g.inputs, sample, strict=True):
            t = g.tensors[i]
            if tuple(value.shape) != t.shape:
                raise UsageError(
                    f"Sample {number} has the shape {list(value.shape)} for input '{t.name}', "
                    f"which takes {list(t.shape)}.",
                    "Give the samples as the converted model takes them: batch of 1, channels last.",
                )
            row.append(np.asarray(value, DTYPES[t.dtype]))
        typed_inputs.append(row)
    return typed_inputs


def run_litert(
    flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]], *, real: bool = False
) -> Iterator[list[np.ndarray]]:
    """Yield the outputs for each sample, computed by LiteRT's builtin kernels without a delegate.

    If ``real``, the samples are real values, which are quantized for quantized inputs, and quantized outputs are
    converted to real values.
    Raises ``ModelError`` if LiteRT refuses the model.
    """
    try:
        host = LiteRtModel(flatbuffer)
    except ModelError as error:
        raise ModelError(
            error.problem.replace("the model", "the converted model", 1),
            "Some operators of the model are not TensorFlow Lite's own: replace them, or convert it with another tool.",
        ) from error
    for sample in samples:
        host.run(
            [
                _quantized(value, detail) if real else value
                for detail, value in zip(host.inputs, sample, strict=True)
            ]
        )
        yield [_real(v, d) if real else v for v, d in zip(host.results(), host.outputs, strict=True)]


def _quantized(value: np.ndarray, detail: Any) -> np.ndarray:
    scale, zero = detail["quantization"]
    if not scale or value.dtype == detail["dtype"]:
        return value
    info = np.iinfo(detail["dtype"])
    quantized = np.clip(np.round(value / scale) + zero, info.min, info.max)
    return cast(np.ndarray, quantized.astype(detail["dtype"]))


def _real(value: np.ndarray, detail: Any) -> np.ndarray:
    scale, zero = detail["quantization"]
    return (value.astype(np.float32) - np.float32(zero)) * np.float32(scale) if scale else value
