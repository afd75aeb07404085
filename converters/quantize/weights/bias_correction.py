"""Add the mean error that quantization causes in each channel to the channel's bias.

Rounded weights and clipped values shift the mean of a channel. The float and the quantized model run on a part of the
samples. For each layer, from the first to the last, the difference between the float and the quantized mean is added to
the bias. So a layer also compensates for the remaining errors of earlier layers. Source: M. Nagel et al., "Data-Free
Quantization Through Weight Equalization and Bias Correction", ICCV 2019, section 4.2 (the empirical form).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from arenite.converters.graph.model import Model, Op, Tensor
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.writer import to_flatbuffer

#: The largest number of samples, and the largest number of multiply-accumulates of all runs, so that large models take
#: at most minutes.
_MAX_SAMPLES = 128
_MAX_MACS = 8e9

#: A function that takes biases by operator and returns the quantized model with these biases, and a map from each float
#: tensor to its tensor in the quantized model.
Emit = Callable[[Mapping[int, np.ndarray]], tuple[Model, Mapping[int, int]]]


def corrected_biases(
    flatbuffer: bytes,
    model: Model,
    layers: Sequence[Sequence[Op]],
    samples: Sequence[Sequence[np.ndarray]],
    emit: Emit,
) -> dict[int, np.ndarray]:
    """Return corrected float biases by operator. ``layers`` are the quantized layers with a constant bias. A layer
    consists of one operator, or of the copies of one operator in all steps of an unrolled loop, which get the
    same bias."""
    biases: dict[int, np.ndarray] = {}
    if not layers:
        return biases
    ops = [op for copies in layers for op in copies]
    graph = model.main
    macs = sum(
        graph.tensors[op.outputs[0]].elements * _macs_per_output(graph.tensors[op.inputs[1]].shape)
        for op in ops
    )
    count = int(np.clip(_MAX_MACS / max(macs * len(layers), 1), 8, _MAX_SAMPLES))
    count = min(count, len(samples))
    selected = [samples[k * len(samples) // count] for k in range(count)]
    layer_outputs = {op.outputs[0] for op in ops}
    first_model, first_map = emit({})
    # A bias must not make up for values that the scale clips on purpose, so the float values are clipped too.
    limits = {i: _limits(first_model.main.tensors[first_map[i]]) for i in layer_outputs}
    exact = _means(flatbuffer, selected, {i: i for i in layer_outputs}, Model(model.subgraphs), limits)
    for copies in layers:
        outputs = [op.outputs[0] for op in copies]
        quantized, tensor_map = emit(biases)
        tensor_values = _means(
            to_flatbuffer(quantized),
            quantized_samples(quantized, selected),
            {out: tensor_map[out] for out in outputs},
            quantized,
        )
        t = graph.tensors[copies[0].inputs[WEIGHTS[copies[0].name].bias]]
        assert t.data is not None
        shift = np.mean([exact[out] - tensor_values[out] for out in outputs], axis=0)
        corrected = np.asarray(t.data.astype(np.float64) + shift)
        for op in copies:
            biases[op.index] = corrected
    return biases


def _macs_per_output(shape: tuple[int, ...]) -> int:
    """Return the number of multiply-accumulates per output value of a layer with weights of ``shape``."""
    return int(np.prod(shape)) // max(shape[0], 1) if shape and shape[0] > 1 else int(np.prod(shape[1:3]))


def _limits(t: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest real value of a quantized tensor, or infinities for a float tensor."""
    if t.quant is None:
        return -np.inf, np.inf
    info = np.iinfo(t.dtype)
    return (info.min - t.zero_point) * t.scale, (info.max - t.zero_point) * t.scale


def _means(
    flatbuffer: bytes,
    samples: Sequence[Sequence[np.ndarray]],
    tensors: Mapping[int, int],
    model: Model,
    limits: Mapping[int, tuple[float, float]] | None = None,
) -> dict[int, np.ndarray]:
    """Return the mean real value per channel, float64 [channels], of each tensor ``tensors[key]``, by key. Values are
    clipped to ``limits[key]`` first."""
    sums: dict[int, np.ndarray] = {}
    for tensor_values in run_tensor_values(flatbuffer, samples, sorted(set(tensors.values()))):
        for name, index in tensors.items():
            t = model.main.tensors[index]
            value = tensor_values[index].astype(np.float64)
            if t.quant is not None:
                value = (value - t.quant.zero_point[0]) * t.quant.scale[0]
            if limits is not None:
                value = np.clip(value, *limits[name])
            mean = value.reshape(-1, value.shape[-1]).mean(axis=0)
            sums[name] = sums[name] + mean if name in sums else mean
    return {name: total / len(samples) for name, total in sums.items()}


def quantized_samples(model: Model, samples: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Return float samples quantized for the inputs of the model. States after the inputs (``dataset.states``) remain
    real values."""
    tensors = [model.main.tensors[i] for i in model.main.inputs]
    count = len(tensors)
    return [
        [quantize_input(value, t.quant.scale[0], t.quant.zero_point[0], t.dtype) if t.quant else value
         for value, t in zip(sample[:count], tensors, strict=True)] + list(sample[count:])
        for sample in samples
    ]  # fmt: skip


def quantize_input(value: np.ndarray, scale: float, zero_point: int, dtype: str) -> np.ndarray:
    """Return real values as integers of ``dtype``, rounded to nearest and clipped."""
    info = np.iinfo(dtype)
    steps = np.rint(value.astype(np.float64) / scale) + zero_point
    return cast(np.ndarray, np.clip(steps, info.min, info.max).astype(dtype))
