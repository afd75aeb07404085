"""Compress the weights of an int8 model, to compare sizes and speed:
``python -m benchmarks.compressed_weights KIND IN OUT``.

KIND ``int4`` rounds weights to [-7, 7] and adapts scales and biases. ``clustered`` leaves 16 different values per
layer. ``pruned`` sets the 80 % of each layer's weights that are nearest to zero to 0. The accuracy falls, because the
weights are not trained again. To quantize a model, use ``arenite convert``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model, Quantization, Tensor
from arenite.converters.importers.load import load_any_image
from arenite.converters.tflite.int4 import WEIGHTS_POSITION, pack_int4_weights
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.files import write_atomic

#: The largest magnitude of an int4 weight. -8 is not used, so that the range of the weights is symmetric.
_MAX_INT4 = 7
#: The number of different values per layer of a clustered model, and the percentage of zeros in a pruned model.
_CLUSTERS, _PRUNED_PERCENT = 16, 80

#: A function that takes the tensors of a layer's weights and bias (None without a bias) and returns the tensors that
#: replace them.
_WeightChange = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor | None]]


def int4(w: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    assert w.data is not None and w.quant is not None
    axis = w.quant.axis if w.quant.per_axis else None
    others = tuple(a for a in range(w.data.ndim) if a != axis) if axis is not None else None
    largest = np.abs(w.data.astype(np.int64)).max(axis=others, keepdims=True)
    factor = np.maximum(largest, _MAX_INT4) / _MAX_INT4
    values = np.clip(np.rint(w.data / factor), -_MAX_INT4, _MAX_INT4).astype(np.int8)
    scale = _scale_by(w.quant, factor.reshape(-1))
    weights = replace(w, dtype="int4", data=pack_int4_weights(values), quant=scale)
    if bias is None or bias.data is None:
        return weights, bias
    sums = np.rint(bias.data / factor.reshape(-1)).astype(bias.data.dtype)
    quant = None if bias.quant is None else _scale_by(bias.quant, factor.reshape(-1))
    return weights, replace(bias, data=sums, quant=quant)


def clustered(w: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    assert w.data is not None
    centers = np.unique(np.rint(np.quantile(w.data, np.linspace(0, 1, _CLUSTERS)))).astype(np.int64)
    nearest = np.abs(w.data.astype(np.int64)[..., None] - centers).argmin(axis=-1)
    return replace(w, data=centers[nearest].astype(np.int8)), bias


def pruned(w: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    assert w.data is not None
    size = np.abs(w.data.astype(np.int64))
    return replace(
        w, data=np.where(size <= np.percentile(size, _PRUNED_PERCENT), 0, w.data).astype(np.int8)
    ), bias


def _scale_by(quant: Quantization, factor: np.ndarray) -> Quantization:
    scale = (np.array(quant.scale) * factor).astype(np.float32)
    return replace(quant, scale=tuple(float(s) for s in scale))


KINDS: dict[str, _WeightChange] = {"int4": int4, "clustered": clustered, "pruned": pruned}


def change_weights(model: Model, change: _WeightChange) -> Model:
    """Return ``model`` after applying ``change`` to the int8 weights and the bias of each layer."""
    graph = model.main
    tensors = list(graph.tensors)
    for op in graph.ops:
        position = WEIGHTS_POSITION.get(op.name)
        w = tensors[op.inputs[position]] if position is not None else None
        if w is None or w.dtype != "int8" or w.data is None or w.quant is None:
            continue
        bias = tensors[op.input(2)] if op.input(2) >= 0 else None
        tensors[w.index], new_bias = change(w, bias)
        if new_bias is not None:
            tensors[new_bias.index] = new_bias
    return model.with_main(replace(graph, tensors=tuple(tensors)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compressed_weights", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args(argv)
    model = load_any_image(args.model).model
    write_atomic(args.output, to_flatbuffer(change_weights(model, KINDS[args.kind])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
