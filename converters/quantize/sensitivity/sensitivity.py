"""Measure the loss if only one layer is quantized: the error at the output, and the loss of the task's metric.

Only one layer of the float model is quantized at a time, with conversions before and after it. The model runs over the
samples with LiteRT's fast kernels. Their results differ from the reference kernels by single quantization steps, much
less than the compared errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.loops.copies import copies_by_operator
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.checks.coverage import short_name
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.graph.operator_rules import RULES, WEIGHTS
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.scoring.metrics import Score
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.converters.quantize.scoring.output_scores import score_source
from arenite.converters.tflite.litert.interpreter import real_values, run_tensor_values
from arenite.converters.tflite.reader import parse

#: Called with (the current step, finished runs over the samples, total number of runs).
Progress = Callable[[str, int, int], None]

#: The recipe settings of each way to quantize a layer.
KINDS: dict[str, dict[str, str]] = {
    "int8": {"activations": "int8", "weights": "int8"},
    "int4": {"activations": "int8", "weights": "int4"},
    "int16": {"activations": "int16", "weights": "int8"},
}

#: The number of samples. It is enough to rank layers.
SAMPLES = 128

#: The largest signal-to-noise ratio that is reported, in dB.
_MAX_SQNR_DB = 150.0


@dataclass(frozen=True)
class LayerSensitivity:
    """The loss if only this layer is quantized, as ``kind``.

    ``sqnr_db`` is the ratio of the energy of the float model's output to the energy of the error, before a final
    softmax or sigmoid, for the output with the smallest ratio. ``drop`` is the largest loss of an output's metric.
    ``weight_bytes`` are the bytes of the quantized weights and bias.
    """

    layer: int
    op: str
    name: str
    kind: str
    sqnr_db: float
    drop: float
    weight_bytes_before: int
    weight_bytes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "op": self.op,
            "name": self.name,
            "kind": self.kind,
            "sqnr_db": self.sqnr_db,
            "drop": self.drop,
            "weight_bytes_before": self.weight_bytes_before,
            "weight_bytes": self.weight_bytes,
        }


@dataclass(frozen=True)
class Sensitivity:
    """The losses of all layers and kinds that were tried. ``base`` is the float model's score on the same samples."""

    base: Score
    layers: tuple[LayerSensitivity, ...]

    def worst(self, kind: str) -> list[LayerSensitivity]:
        """Return the layers of one kind, the most sensitive first."""
        return sorted((s for s in self.layers if s.kind == kind), key=lambda s: s.sqnr_db)

    def to_json(self) -> dict[str, Any]:
        return {"base": self.base.to_json(), "layers": [s.to_json() for s in self.layers]}


def sensitivity(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations,
    dataset: Dataset,
    *,
    kinds: Sequence[str] = ("int8", "int4"),
    metric: str | None = None,
    samples: int | None = SAMPLES,
    progress: Progress = lambda *_: None,
) -> Sensitivity:
    """Quantize one layer of the float model at a time, as each of ``kinds``, and measure the loss.

    ``recipe`` has all settings except the types, for example calibrator and rounding. ``samples`` is the largest number
    of samples, which are taken at even distances. int4 and int16 are tried for layers with constant weights and a
    kernel for this type. The copies of a layer in all steps of a loop are quantized together, and the first of them
    stands for all.
    """
    data = dataset.limited(samples)
    graph = parse(flatbuffer).main
    copies = copies_by_operator(graph)
    firsts = [op.index for op in graph.ops if copies[op.index][0] == op.index]
    tries = [(k, kind) for k in firsts for kind in kinds if _changes_precision(graph, k, kind)]
    progress("float model", 0, len(tries) + 1)
    probes = output_probes(graph)
    expected = [_probe_values(flatbuffer, data, probe) for probe in probes]
    source = score_source(flatbuffer, data, metric)
    sensitivities = []
    for done, (layer, kind) in enumerate(tries):
        progress(f"layer {layer} {kind}", done + 1, len(tries) + 1)
        quantized = quantize(flatbuffer, single_layer_recipe(recipe, kind), observations, only=copies[layer])
        worst_db = min(
            sqnr(values, _probe_values(quantized.flatbuffer, data, quantized.tensors[probe]))
            for probe, values in zip(probes, expected, strict=True)
        )
        _, lost = source.score_image(run_outputs(quantized.flatbuffer, data, reference=False))
        sensitivities.append(_entry(graph, quantized, layer, kind, worst_db, lost))
    progress("", len(tries) + 1, len(tries) + 1)
    return Sensitivity(source.base, tuple(sensitivities))


def single_layer_recipe(recipe: Recipe, kind: str) -> Recipe:
    """Return ``recipe`` with the types of ``kind`` for every layer, and without balance, because the values of layers
    are compared with those of the float model. Ranges for balanced values are left out."""
    settings = replace(recipe.settings, **KINDS[kind])  # type: ignore[arg-type]
    ranges = {} if recipe.balance else recipe.ranges
    return replace(recipe, settings=settings, layers=(), balance=False, ranges=ranges)


def sqnr(expected: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> float:
    """Return the ratio of the energy of ``expected`` to the energy of the differences, in dB, at most 150."""
    signal = sum(float(np.sum(e.astype(np.float64) ** 2)) for e in expected)
    error = sum(
        float(np.sum((e.astype(np.float64) - a.astype(np.float64).reshape(e.shape)) ** 2))
        for e, a in zip(expected, actual, strict=True)
    )
    if error <= signal * 10 ** (-_MAX_SQNR_DB / 10):
        return _MAX_SQNR_DB
    return float(10 * np.log10(max(signal, 1e-30) / error))


def _changes_precision(graph: Subgraph, layer: int, kind: str) -> bool:
    """Return whether quantizing ``layer`` as ``kind`` is possible and changes its precision."""
    op = graph.ops[layer]
    rule = RULES.get(op.name)
    # Operators that only move values lose no precision.
    if rule is None or rule.kind not in ("weights", "free", "fixed"):
        return False
    if kind == "int8":
        return "int8" in rule.types
    weights = WEIGHTS.get(op.name)
    if weights is None or not graph.tensors[op.inputs[weights.weights]].is_constant:
        return False
    return bool(weights.int4) if kind == "int4" else "int16" in rule.types


def output_probes(graph: Subgraph) -> list[int]:
    """Return the tensors at which errors are measured: each output, or the input of its softmax or sigmoid, because
    these would hide errors."""
    hiding = {
        out: op.inputs[0]
        for op in graph.ops
        if op.name in ("SOFTMAX", "LOGISTIC", "LOG_SOFTMAX")
        for out in op.outputs
    }
    tensors = [hiding.get(out, out) for out in graph.outputs]
    return [i for i in dict.fromkeys(tensors) if graph.tensors[i].dtype == "float32"] or tensors[:1]


def _probe_values(flatbuffer: bytes, data: Dataset, tensor: int) -> list[np.ndarray]:
    """Return the real values of ``tensor`` for every sample."""
    t = parse(flatbuffer).main.tensors[tensor]
    return [real_values(values[tensor], t) for values in run_tensor_values(flatbuffer, data.inputs, [tensor])]


def _entry(
    graph: Subgraph, quantized: QuantizedModel, layer: int, kind: str, sqnr_db: float, lost: float
) -> LayerSensitivity:
    figures = quantized.layers[layer]
    return LayerSensitivity(
        layer,
        graph.ops[layer].name,
        short_name(figures.output),
        kind,
        sqnr_db,
        lost,
        figures.weight_bytes_before,
        figures.weight_bytes,
    )
