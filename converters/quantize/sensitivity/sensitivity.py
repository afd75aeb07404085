"""The loss from quantizing each layer alone: the error at the output, and the task's metric.

Every layer is quantized by itself in the float model (its inputs and outputs converted), which runs over the samples
with LiteRT's fast kernels; they differ from the reference kernels by single steps, far less than the compared errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.checks.coverage import short_name
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.graph.operator_rules import RULES, WEIGHTS
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.scoring.metrics import Score, metric_drop
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.scoring.score import score_outputs
from arenite.converters.tflite.litert.interpreter import real_values, run_tensor_values
from arenite.converters.tflite.reader import parse

#: Called with (the current step, runs over the samples done, total runs).
Progress = Callable[[str, int, int], None]

#: Ways to quantize a layer, as settings of a recipe.
KINDS: dict[str, dict[str, str]] = {
    "int8": {"activations": "int8", "weights": "int8"},
    "int4": {"activations": "int8", "weights": "int4"},
    "int16": {"activations": "int16", "weights": "int8"},
}

#: Number of samples that is enough to rank layers.
SAMPLES = 128

#: Largest signal-to-noise ratio in dB; a smaller error counts as none.
_BEST_DB = 150.0


@dataclass(frozen=True)
class LayerSensitivity:
    """One layer quantized alone as ``kind``.

    ``sqnr_db``: energy of the float model's output over that of the error, before a final softmax or sigmoid.
    ``metric_drop``: the loss of the metric. ``weight_bytes``: the bytes of weights and bias afterwards.
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
    """All layers and kinds that were tried; ``base``: the float model's score on the same samples."""

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
    """Quantize each layer of the float model alone, in each of ``kinds``, and measure the loss.

    ``recipe``: all settings except the types: calibrators, rounding. ``samples``: the largest number, evenly spread.
    int4 and int16 are tried where the layer has constant weights and a kernel for them.
    """
    data = dataset.limited(samples)
    graph = parse(flatbuffer).main
    tries = [(op.index, kind) for op in graph.ops for kind in kinds if _has(graph, op.index, kind)]
    progress("float model", 0, len(tries) + 1)
    probe = _probe(graph)
    wanted = _probed(flatbuffer, data, probe)
    plain = run_dataset(flatbuffer, data)
    base = score_outputs(plain, data, metric, reference=plain)
    sensitivities = []
    for done, (layer, kind) in enumerate(tries):
        progress(f"layer {layer} {kind}", done + 1, len(tries) + 1)
        quantized = quantize(flatbuffer, single_layer_recipe(recipe, kind), observations, only=[layer])
        actual = _probed(quantized.flatbuffer, data, quantized.tensors[probe])
        outputs = run_dataset(quantized.flatbuffer, data, reference=False)
        now = score_outputs(outputs, data, base.metric, reference=plain)
        sensitivities.append(
            _entry(graph, quantized, layer, kind, sqnr(wanted, actual), metric_drop(base, now))
        )
    progress("", len(tries) + 1, len(tries) + 1)
    return Sensitivity(base, tuple(sensitivities))


def single_layer_recipe(recipe: Recipe, kind: str) -> Recipe:
    """``recipe`` with every layer of the types of ``kind``."""
    return replace(recipe, settings=replace(recipe.settings, **KINDS[kind]), layers=())  # type: ignore[arg-type]


def sqnr(wanted: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> float:
    """Energy of ``wanted`` over that of the difference, in dB, at most 150."""
    signal = sum(float(np.sum(w.astype(np.float64) ** 2)) for w in wanted)
    error = sum(
        float(np.sum((w.astype(np.float64) - g.astype(np.float64).reshape(w.shape)) ** 2))
        for w, g in zip(wanted, actual, strict=True)
    )
    if error <= signal * 10 ** (-_BEST_DB / 10):
        return _BEST_DB
    return float(10 * np.log10(max(signal, 1e-30) / error))


def _has(graph: Subgraph, layer: int, kind: str) -> bool:
    op = graph.ops[layer]
    rule = RULES.get(op.name)
    # Operators that move values lose nothing by themselves.
    if rule is None or rule.kind not in ("weights", "free", "fixed"):
        return False
    if kind == "int8":
        return "int8" in rule.types
    weights = WEIGHTS.get(op.name)
    if weights is None or not graph.tensors[op.inputs[weights.weights]].is_constant:
        return False
    return bool(weights.int4) if kind == "int4" else "int16" in rule.types


def _probe(graph: Subgraph) -> int:
    """Return the tensor at which errors are measured: the first output, or the input of its softmax or sigmoid, which
    would hide them."""
    out = graph.outputs[0]
    for op in graph.ops:
        if out in op.outputs and op.name in ("SOFTMAX", "LOGISTIC", "LOG_SOFTMAX"):
            return op.inputs[0]
    return out


def _probed(flatbuffer: bytes, data: Dataset, tensor: int) -> list[np.ndarray]:
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
