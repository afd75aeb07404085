"""An int8 model with its weights rounded to int4, to compare sizes and speed: ``python -m benchmarks.int4 IN OUT``.

Weights lie in [-7, 7], per channel or per tensor as in the model, and biases are scaled to match. Accuracy falls: this
is no way to quantise a model, ``arenite convert`` has one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.atomic import write_atomic
from arenite.converters.flatbuffer import to_flatbuffer
from arenite.converters.graph import Model, Quantization, Tensor
from arenite.converters.int4 import WEIGHTS_OF, int8_weights, pack_int4
from arenite.converters.load import load_any_image

#: The largest weight; -8 is left out, so that weights are symmetric.
_MOST = 7


def rounded_to_int4(model: Model) -> Model:
    """``model`` with int4 weights wherever an operator can have them."""
    graph = model.main
    tensors = list(graph.tensors)
    for op in graph.ops:
        position = WEIGHTS_OF.get(op.name)
        if position is None:
            continue
        w = tensors[op.inputs[position]]
        if w.dtype != "int8" or w.data is None or w.quant is None:
            continue
        made, factor = _rounded(w)
        tensors[w.index] = made
        if op.input(2) >= 0:
            tensors[op.input(2)] = _scaled_bias(tensors[op.input(2)], factor)
    return replace(model, subgraphs=(replace(graph, tensors=tuple(tensors)), *model.subgraphs[1:]))


def _rounded(w: Tensor) -> tuple[Tensor, np.ndarray]:
    """The tensor in int4, and by what each of its scales grew."""
    assert w.data is not None and w.quant is not None
    axis = w.quant.axis if w.quant.per_axis else None
    others = tuple(a for a in range(w.data.ndim) if a != axis) if axis is not None else None
    largest = np.abs(w.data.astype(np.int64)).max(axis=others, keepdims=True)
    factor = np.maximum(largest, _MOST) / _MOST
    values = np.clip(np.rint(w.data / factor), -_MOST, _MOST).astype(np.int8)
    scale = np.float32(np.array(w.quant.scale) * factor.reshape(-1))
    quant = Quantization(tuple(float(s) for s in scale), w.quant.zero_point, w.quant.axis)
    return replace(w, dtype="int4", data=pack_int4(values), quant=quant), factor.reshape(-1)


def _scaled_bias(bias: Tensor, factor: np.ndarray) -> Tensor:
    assert bias.data is not None
    values = np.rint(bias.data / factor).astype(bias.data.dtype)
    quant = bias.quant
    if quant is not None:
        scale = np.float32(np.array(quant.scale) * factor)
        quant = replace(quant, scale=tuple(float(s) for s in scale))
    return replace(bias, data=values, quant=quant)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.int4", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args(argv)
    model = load_any_image(args.model).model
    write_atomic(args.output, to_flatbuffer(int8_weights(rounded_to_int4(model))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
