"""The space of recipes that a search explores: the type of each layer, the calibrator, bias correction and
equalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.copies import copies_by_operator
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.recipes.recipe import LayerRule, Recipe
from arenite.converters.quantize.sensitivity.sensitivity import Sensitivity

#: The calibrator and its parameters, by the name of the choice.
CALIBRATORS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "minmax": ("minmax", {}),
    "percentile 99.99": ("percentile", {"percentile": 99.99}),
    "percentile 99.9": ("percentile", {"percentile": 99.9}),
    "mse": ("mse", {}),
    "entropy": ("entropy", {}),
}

#: The settings of a layer, by the name of the choice.
LAYER_KINDS: Mapping[str, Mapping[str, Any]] = {
    "int8": {"activations": "int8", "weights": "int8"},
    "int4": {"activations": "int8", "weights": "int4", "weight_scale": "mse", "rounding": "gptq"},
    "int16": {"activations": "int16", "weights": "int8"},
}

#: A layer with a smaller share of the model's weights is not tried in int4, because it saves too little.
_MIN_INT4_SHARE = 0.01


@dataclass(frozen=True)
class LayerChoice:
    """A layer with constant weights, and the ``kinds`` of ``LAYER_KINDS`` that it may have."""

    layer: int
    kinds: tuple[str, ...]
    elements: int  # number of its weights


@dataclass(frozen=True)
class SearchSpace:
    """The recipes of a search. ``base`` has the settings that are not searched. The parameters are
    ``calibrator``, ``bias_correction``, ``equalisation``, and one for each layer with a choice, such as ``layer 3``."""

    base: Recipe
    layers: tuple[LayerChoice, ...]
    calibrators: tuple[str, ...] = tuple(CALIBRATORS)

    def choices(self) -> dict[str, tuple[Any, ...]]:
        """Return every parameter with its values. The first value of each is that of the plain int8 recipe."""
        values: dict[str, tuple[Any, ...]] = {
            f"layer {c.layer}": c.kinds for c in self.layers if len(c.kinds) > 1
        }
        values["calibrator"] = self.calibrators
        return values | {"bias_correction": (False, True), "equalisation": (False, True)}

    def plain(self) -> dict[str, Any]:
        """Return every parameter with its first value. This is the plain int8 recipe."""
        return {name: values[0] for name, values in self.choices().items()}

    def recipe(self, params: Mapping[str, Any]) -> Recipe:
        """Return the recipe for ``params``."""
        name, parameters = CALIBRATORS[params["calibrator"]]
        settings = replace(
            self.base.settings, calibrator=name, calibrator_parameters=dict(parameters), **LAYER_KINDS["int8"]
        )
        rules = [
            LayerRule(f"#{c.layer}", dict(LAYER_KINDS[kind]))
            for c in self.layers
            if (kind := params.get(f"layer {c.layer}", c.kinds[0])) != "int8"
        ]
        variant = replace(
            self.base,
            name=f"{self.base.name} (searched)",
            description="",
            settings=settings,
            bias_correction=params["bias_correction"],
            equalisation=params["equalisation"],
        )
        return variant.with_layers(*rules)

    def to_json(self) -> dict[str, Any]:
        return {"base": self.base.to_json(), "choices": {k: list(v) for k, v in self.choices().items()}}


def space_for(model: Model, base: Recipe, kinds: Sequence[str] = tuple(LAYER_KINDS)) -> SearchSpace:
    """Return the search space of a float model. Layers may have the types ``kinds``, if their kernels support them."""
    choices = []
    copies = copies_by_operator(model.main)
    for op in model.main.ops:
        rule = WEIGHTS.get(op.name)
        if copies[op.index][0] != op.index:  # the copies of a layer in all steps of a loop have one type
            continue
        if rule is None or not model.main.tensors[op.inputs[rule.weights]].is_constant:
            continue
        choices.append((op.index, rule, model.main.tensors[op.inputs[rule.weights]].elements))
    total = sum(elements for *_, elements in choices)
    layers = []
    for index, rule, elements in choices:
        possible = ["int8"]
        if "int4" in kinds and rule.int4 and elements >= _MIN_INT4_SHARE * total:
            possible.append("int4")
        if "int16" in kinds:
            possible.append("int16")
        layers.append(LayerChoice(index, tuple(possible), elements))
    return SearchSpace(base, tuple(layers))


def _int4_layer_counts(int4_layers: Sequence[LayerChoice], saving: int) -> list[int]:
    """Return how many of ``int4_layers``, from the first on, must be int4 to save ``saving`` bytes, and this number
    plus 1, because int4 needs more code."""
    saved = 0
    for count, layer in enumerate(int4_layers, 1):
        saved += layer.elements // 2
        if saved >= saving:
            return [count, min(count + 1, len(int4_layers))]
    return [len(int4_layers)] if int4_layers else []


def initial_trials(space: SearchSpace, sensitivity: Sensitivity, saving: int | None) -> list[dict[str, Any]]:
    """Return the parameters to try first: plain int8, int8 with other calibrators, int4 in an increasing number of
    layers in the order of error per byte saved, and int16 in the layers that are most sensitive to int8.

    ``saving`` is the number of bytes of flash by which plain int8 exceeds the budget, or None if it is unknown. If it
    is positive, int4 is tried before other calibrators, first in the smallest number of layers that saves these
    bytes.
    """
    plain = space.plain()
    others = [{**plain, "calibrator": c} for c in space.calibrators if c in ("mse", "percentile 99.9")]
    int4_layers = [c for c in space.layers if "int4" in c.kinds]
    noise = {s.layer: 10 ** (-s.sqnr_db / 10) for s in sensitivity.layers if s.kind == "int4"}
    int4_layers.sort(key=lambda c: noise.get(c.layer, 0.0) / max(c.elements, 1))

    def int4_in_first(count: int, calibrator: str) -> dict[str, Any]:
        return {**plain, "calibrator": calibrator} | {f"layer {c.layer}": "int4" for c in int4_layers[:count]}

    counts = sorted({len(int4_layers), *(round(len(int4_layers) * part) for part in (0.25, 0.5, 0.75))} - {0})
    must_save_flash = saving is not None and saving > 0
    if must_save_flash:
        counts = _int4_layer_counts(int4_layers, saving or 0) + counts
    calibrator = "mse" if "mse" in space.calibrators else space.calibrators[0]
    mixtures = [int4_in_first(count, calibrator) for count in counts]
    if mixtures:
        mixtures.append({**mixtures[-1], "bias_correction": True})
    tries = [plain, *mixtures, *others] if must_save_flash else [plain, *others, *mixtures]
    wide = [
        s.layer
        for s in sensitivity.worst("int8")
        if any("int16" in c.kinds for c in space.layers if c.layer == s.layer)
    ]
    for count in (1, 3):
        if len(wide) >= count:
            tries.append(plain | {f"layer {layer}": "int16" for layer in wide[:count]})
    unique: list[dict[str, Any]] = []
    for params in tries:
        if params not in unique:
            unique.append(params)
    return unique
