"""Recipes state how a float model is quantized. They are TOML files that come with Arenite or that a user writes.

See docs/recipes.md for every key. A recipe has settings for all layers, and entries ``[[layers]]`` with other settings
for the layers that ``match`` selects. Later entries take precedence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.quantize.calibration.calibrators import CALIBRATORS, check_calibrator
from arenite.errors import UsageError
from arenite.input_files import parse_toml, read_text

#: The values that each key can have.
CHOICES: dict[str, tuple[str, ...]] = {
    "activations": ("int8", "int16", "float"),
    "weights": ("int8", "int4", "float16", "float"),
    "inputs": ("int8", "int16", "float"),
    "outputs": ("int8", "int16", "float"),
    "calibrator": tuple(CALIBRATORS),
    "weight_scale": ("max", "mse"),
    "rounding": ("nearest", "gptq"),
    "float_kernels": ("dynamic", "dequantise"),
}

#: Keys that apply to the complete model and cannot be set for single layers.
_WHOLE_MODEL = frozenset(
    {"name", "description", "inputs", "outputs", "bias_correction", "equalisation", "balance", "ranges"}
)


@dataclass(frozen=True)
class LayerSettings:
    """The quantization settings of one layer."""

    activations: str = "int8"
    weights: str = "int8"
    per_channel: bool = True
    calibrator: str = "minmax"
    calibrator_parameters: Mapping[str, float] = field(default_factory=dict)
    weight_scale: str = "max"
    rounding: str = "nearest"
    #: For float activations and int8 weights: the kernel quantizes activations at run time ("dynamic"), or the weights
    #: are converted to float before the kernel ("dequantise").
    float_kernels: str = "dynamic"


@dataclass(frozen=True)
class LayerRule:
    """The settings for the layers that ``match`` selects.

    ``match`` is an operator's name (``CONV_2D``), ``#3`` or ``#3-7`` for layers by index, or a regular expression
    that is searched for in the name of the layer's first output.
    """

    match: str
    settings: Mapping[str, Any]

    def apply_to(self, settings: LayerSettings) -> LayerSettings:
        """Return ``settings`` changed by the rule. A new calibrator does not keep the parameters of the old one."""
        new = dict(self.settings)
        if "calibrator" in new:
            new.setdefault("calibrator_parameters", {})
        return replace(settings, **new)

    def covers(self, graph: Subgraph, op: Op) -> bool:
        """Return whether ``match`` selects the layer ``op``."""
        if span := _span(self.match):
            return span[0] <= op.index <= span[1]
        if re.fullmatch(r"[A-Z][A-Z0-9_]*", self.match):
            return op.name == self.match
        name = graph.tensors[op.outputs[0]].name if op.outputs else ""
        return re.search(self.match, name) is not None


@dataclass(frozen=True)
class Recipe:
    """Settings for all layers, for some layers, and for the model's inputs and outputs."""

    name: str = "int8"
    description: str = ""
    settings: LayerSettings = LayerSettings()
    inputs: str = "int8"  # type of the quantized model's inputs
    outputs: str = "int8"  # type of the quantized model's outputs
    bias_correction: bool = False
    equalisation: bool = False
    #: Whether the float model is first changed to one with the same outputs that loses less in int8.
    balance: bool = False
    #: (low, high) of int8 tensors by name in the float model, with low <= 0 <= high. They replace calibrated ranges.
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    layers: tuple[LayerRule, ...] = ()

    def for_layer(self, graph: Subgraph, op: Op) -> LayerSettings:
        """Return the settings of ``op`` after all matching rules have been applied in order."""
        return self.for_copies(graph, (op,))

    def for_copies(self, graph: Subgraph, copies: Sequence[Op]) -> LayerSettings:
        """Return the settings of ``copies``, the copies of one layer in all steps of a loop. They must be alike, so a
        rule that matches one of them applies to all."""
        settings = self.settings
        for rule in self.layers:
            if any(rule.covers(graph, op) for op in copies):
                settings = rule.apply_to(settings)
        return settings

    def chooses_type(self, graph: Subgraph, copies: Sequence[Op]) -> bool:
        """Return whether a rule for single layers chooses the type of the activations of one of ``copies``."""
        return any(
            "activations" in rule.settings and any(rule.covers(graph, op) for op in copies)
            for rule in self.layers
        )

    def with_layers(self, *rules: LayerRule) -> Recipe:
        """Return the recipe with further rules, which take precedence. Raises ``UsageError`` for a wrong setting."""
        for rule in rules:
            _check_settings(f"the layers '{rule.match}'", rule.settings)
            _check_calibrator(rule.apply_to(self.settings))
        return replace(self, layers=(*self.layers, *rules))

    @property
    def needs_observations(self) -> bool:
        """Whether any layer may get integer activations, which need calibrated ranges."""
        return any(
            a != "float"
            for a in (
                self.settings.activations,
                self.inputs,
                self.outputs,
                *(r.settings.get("activations", "float") for r in self.layers),
            )
        )

    def without_slow_steps(self, *, keeps_ranges: bool = False) -> Recipe:
        """Return a recipe with the same types, without the slow steps that only improve accuracy. If ``keeps_ranges``,
        it has the same calibrator, the same balance and the same choice of the weights' scales."""
        settings = replace(self.settings, rounding="nearest")
        if not keeps_ranges:
            settings = replace(settings, calibrator="minmax", calibrator_parameters={}, weight_scale="max")
        ranges = self.ranges if keeps_ranges else {}
        balance = self.balance and keeps_ranges
        return replace(
            self,
            settings=settings,
            bias_correction=False,
            equalisation=False,
            balance=balance,
            ranges=ranges,
        )

    def to_json(self) -> dict[str, Any]:
        """Return every setting, including the defaults. If the settings of two recipes are equal, so are the models."""
        out: dict[str, Any] = {"name": self.name}
        out |= {f.name: getattr(self.settings, f.name) for f in fields(LayerSettings)}
        out["calibrator_parameters"] = dict(self.settings.calibrator_parameters)
        out |= {"inputs": self.inputs, "outputs": self.outputs}
        out |= {"bias_correction": self.bias_correction, "equalisation": self.equalisation}
        out["balance"] = self.balance
        out["ranges"] = {name: list(limits) for name, limits in self.ranges.items()}
        out["layers"] = [{"match": r.match, **r.settings} for r in self.layers]
        return out

    @staticmethod
    def from_table(table: Mapping[str, Any], where: str) -> Recipe:
        """Return the recipe in a parsed TOML table. Raises ``UsageError`` for unknown keys and values."""
        model_table = {k: v for k, v in table.items() if k != "layers"}
        _check_settings(where, model_table, whole_model=True)
        layer_keys = {f.name for f in fields(LayerSettings)}
        settings = LayerSettings(**{k: v for k, v in model_table.items() if k in layer_keys})
        _check_calibrator(settings)
        model_settings = {k: v for k, v in model_table.items() if k not in layer_keys}
        if "ranges" in model_settings:
            model_settings["ranges"] = {
                name: _range(where, name, limits) for name, limits in model_settings["ranges"].items()
            }
        for edge in ("inputs", "outputs"):
            model_settings.setdefault(edge, settings.activations)
        rules = table.get("layers", [])
        if not isinstance(rules, list) or not all(isinstance(r, dict) for r in rules):
            raise UsageError(f"{where}: 'layers' is not a list of tables.", "Write each as [[layers]].")
        layers = tuple(_rule(where, r) for r in rules)
        for rule in layers:
            _check_calibrator(rule.apply_to(settings))
        return Recipe(settings=settings, layers=layers, **model_settings)


@cache
def shipped_recipes() -> Mapping[str, Recipe]:
    """Return the recipes that come with Arenite, by name. Their files are read once."""
    folder = files("arenite.converters.quantize") / "recipes"
    toml_files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return MappingProxyType(
        {f.name[:-5]: _parse(f.read_text("utf-8"), f.name, f.name[:-5]) for f in toml_files}
    )


def load_recipe(name_or_path: str | Path) -> Recipe:
    """Return a shipped recipe by name, or the recipe in a TOML file.

    Raises ``UsageError`` for a recipe that does not exist, cannot be read or has a wrong key or value.
    """
    text = str(name_or_path)
    shipped = shipped_recipes()
    if text in shipped:
        return shipped[text]
    path = Path(text)
    if path.suffix != ".toml" and not path.exists():
        raise UsageError(
            f"There is no recipe '{text}'.",
            f"The shipped recipes are {', '.join(shipped)}; or give the path of a .toml file.",
        )
    try:
        content = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read the recipe {path}: {error}.", "Give a TOML file.") from error
    return _parse(content, str(path), path.stem)


def _parse(content: str, where: str, name: str) -> Recipe:
    try:
        table = parse_toml(content)
    except ValueError as error:
        raise UsageError(f"{where} is not TOML: {error}.", "See docs/recipes.md.") from error
    return Recipe.from_table({"name": name, **table}, where)


def _rule(where: str, table: Mapping[str, Any]) -> LayerRule:
    """Return the rule in an entry of ``[[layers]]``. ``where`` names the file in errors."""
    match = table.get("match")
    if not isinstance(match, str) or not match:
        raise UsageError(
            f"{where}: an entry of 'layers' has no 'match'.",
            'Give an operator ("CONV_2D"), an index ("#3", "#3-7") or a regular expression of output names.',
        )
    try:
        re.compile(match)
    except re.error as error:
        raise UsageError(
            f"{where}: '{match}' is not a regular expression: {error}.", "See Python's re module."
        ) from error
    settings = {k: v for k, v in table.items() if k != "match"}
    _check_settings(f"{where}, layers '{match}'", settings)
    return LayerRule(match, settings)


def _span(match: str) -> tuple[int, int] | None:
    """Return the first and the last layer of a match such as ``#3`` or ``#3-7``, or None for another match."""
    matched = re.fullmatch(r"#(\d+)(?:-(\d+))?", match)
    return (int(matched[1]), int(matched[2] or matched[1])) if matched else None


def _range(where: str, name: str, limits: Any) -> tuple[float, float]:
    """Return the range (low, high) of the tensor ``name`` as floats. Raises ``UsageError`` if it is not a range."""
    numbers = limits if isinstance(limits, list | tuple) else ()
    if len(numbers) == 2 and all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        low, high = float(numbers[0]), float(numbers[1])
        if low <= 0 <= high and low < high and math.isfinite(high - low):
            return low, high
    raise UsageError(
        f"{where}: the range of '{name}' is {limits!r}.",
        "Give its lowest and its highest value, such as [-1.0, 2.5]; the range must include 0.",
    )


def _check_settings(where: str, settings: Mapping[str, Any], *, whole_model: bool = False) -> None:
    """Raise ``UsageError`` for an unknown key or a wrong value. If ``whole_model``, keys that apply to the complete
    model are allowed."""
    types: dict[str, type] = {f.name: type(getattr(LayerSettings(), f.name)) for f in fields(LayerSettings)}
    if whole_model:
        types |= {f.name: type(getattr(Recipe(), f.name)) for f in fields(Recipe) if f.name in _WHOLE_MODEL}
    for key, value in settings.items():
        if key not in types:
            hint = f"The keys are {', '.join(sorted(types))}."
            if key in _WHOLE_MODEL:
                hint = f"It applies to the whole model: write it above [[layers]]. {hint}"
            raise UsageError(f"{where}: unknown key '{key}'.", hint)
        if key in CHOICES and value not in CHOICES[key]:
            raise UsageError(
                f"{where}: {key} is {value!r}.", f"Give one of {', '.join(map(repr, CHOICES[key]))}."
            )
        if not isinstance(value, types[key]):
            expected = {bool: "true or false", str: "a text", dict: "a table of numbers"}[types[key]]
            raise UsageError(f"{where}: {key} is {value!r}.", f"Give {expected}.")


def _check_calibrator(settings: LayerSettings) -> None:
    check_calibrator(settings.calibrator, settings.calibrator_parameters)
