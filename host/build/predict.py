"""Predict the memory of changed versions of a model on a board, without building or training them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Quantization, Tensor
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.calibration.random_calibration import random_calibration
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.tflite.int4 import WEIGHTS_POSITION
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import AreniteError
from arenite.host.build.fit import needs, target_for
from arenite.host.build.fit_verdict import FitVerdict, fit
from arenite.host.build.prepare import Prepared, prepare
from arenite.models.architectures.random_weights import random_model
from arenite.models.architectures.recognize import NetworkSize
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board

#: The number of random inputs that are used in place of calibration samples.
_RANDOM_COUNT = 4


@dataclass(frozen=True)
class Prediction:
    """The bytes that a build needs, and the bytes that the board has.

    ``optimise`` is the goal of the build, ``stream_input`` says whether its input arrives row by row. ``exact`` is
    False if the size of the start-up code of the board's framework is an estimate.
    """

    fits: bool
    optimise: str
    stream_input: bool
    ram: int
    ram_available: int
    flash: int
    flash_available: int
    exact: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "fits": self.fits,
            "optimise": self.optimise,
            "stream_input": self.stream_input,
            "ram": {"needed": self.ram, "available": self.ram_available, "kind": "predicted"},
            "flash": {"needed": self.flash, "available": self.flash_available, "kind": "predicted"},
        }


class Predictor:
    """Predicts the memory of changed versions of one model. Each version is quantized and planned once for all boards.

    ``flatbuffer`` is the float32 model that was quantized to ``prepared``, or None. ``observations`` is its
    calibration, or None to use random inputs.
    """

    def __init__(
        self, prepared: Prepared, flatbuffer: bytes | None, observations: Observations | None
    ) -> None:
        self._prepared, self._flatbuffer, self._observations = prepared, flatbuffer, observations
        self._variants: dict[object, Prepared | AreniteError] = {}

    @property
    def has_float(self) -> bool:
        return self._flatbuffer is not None

    def predict_streamed(self, board: Board) -> Prediction:
        """Predict the unchanged model if it receives its input row by row. Raises ``UsageError`` if that is not
        possible."""
        return _prediction(_verdict(self._prepared, board, "ram", True), True)

    def predict_recipe(self, recipe: Recipe, board: Board) -> Prediction:
        """Predict the model quantized with ``recipe``. Raises ``AreniteError`` if it cannot be quantized or planned."""
        return _best(self._variant(("recipe", recipe.name), lambda: self._quantized(recipe)), board)

    def predict_untrained(self, size: NetworkSize, board: Board) -> Prediction:
        """Predict an untrained int8 network with the architecture (of Arenite's zoo) and size in ``size``."""
        return _best(self._variant(size, lambda: _int8(random_model(size.network()))), board)

    def _quantized(self, recipe: Recipe) -> bytes:
        if self._flatbuffer is None:
            return to_flatbuffer(int4_weights(self._prepared.source, recipe))
        if self._observations is None:
            self._observations = _observed(self._flatbuffer)
        return quantize(self._flatbuffer, recipe.without_slow_steps(), self._observations).flatbuffer

    def _variant(self, key: object, make: Any) -> Prepared:
        """Return the version of the model with the identity ``key``. ``make`` returns its flatbuffer, and is called
        when the version is first needed. Raises the same ``AreniteError`` again if that failed."""
        if key not in self._variants:
            try:
                self._variants[key] = _prepared(make())
            except AreniteError as error:
                self._variants[key] = error
        variant = self._variants[key]
        if isinstance(variant, AreniteError):
            raise variant
        return variant


def int4_weights(model: Model, recipe: Recipe) -> Model:
    """Return the int8 model ``model`` with int4 weights in the layers that ``recipe`` selects.

    The sizes are right, but the weights are only rounded, so the model must not be used for inference.
    """
    graph = model.main
    tensors = list(graph.tensors)
    for op in graph.ops:
        if op.name in WEIGHTS_POSITION and recipe.for_layer(graph, op).weights == "int4":
            t = tensors[op.inputs[WEIGHTS_POSITION[op.name]]]
            if t.dtype == "int8" and t.data is not None and not t.stored:
                tensors[t.index] = _as_int4(t)
    return model.with_main(replace(graph, tensors=tuple(tensors)))


def _as_int4(t: Tensor) -> Tensor:
    """Return the int8 weights ``t`` rounded to int4, with 16 times their scale."""
    assert t.data is not None and t.quant is not None
    values = np.clip(np.round(t.data / 16), -7, 7).astype(np.int8)
    values.flags.writeable = False
    scales = tuple(float(np.float32(16 * s)) for s in t.quant.scale)
    return replace(
        t, data=values, stored="int4", quant=Quantization(scales, t.quant.zero_point, t.quant.axis)
    )


def _int8(flatbuffer: bytes) -> bytes:
    return quantize(flatbuffer, load_recipe("int8"), _observed(flatbuffer)).flatbuffer


def _observed(flatbuffer: bytes) -> Observations:
    return observe(flatbuffer, random_calibration(parse(flatbuffer), _RANDOM_COUNT))


def _prepared(flatbuffer: bytes) -> Prepared:
    with temporary_folder("arenite-") as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(flatbuffer)
        return prepare(path)


def _best(prepared: Prepared, board: Board) -> Prediction:
    """Return the prediction for the fastest build that fits. If none fits, return the prediction for the build that
    lacks the fewest bytes.

    After "speed", the goal "ram" is tried only if RAM is too small, and "flash" only if RAM is sufficient.
    """
    tried: list[FitVerdict] = []
    for mode in ("speed", "ram", "flash"):
        if mode == "flash" and tried[-1].needs.ram > board.ram_bytes:
            break  # no build takes less RAM than the one with the goal "ram"
        if mode == "ram" and tried[0].needs.ram <= board.ram_bytes:
            continue
        tried.append(_verdict(prepared, board, mode, False))
        if tried[-1].fits:
            break
    return _prediction(min(tried, key=lambda v: (not v.fits, v.missing)), False)


def _verdict(prepared: Prepared, board: Board, optimise: str, stream_input: bool) -> FitVerdict:
    planned = prepared.retarget(target_for(board, optimise, stream_input))
    return fit(needs(planned.generated, board, optimise), board)


def _prediction(v: FitVerdict, stream_input: bool) -> Prediction:
    """Return the figures of the verdict ``v``."""
    return Prediction(
        v.fits,
        v.needs.optimise,
        stream_input,
        v.needs.ram,
        v.board.ram_bytes,
        v.needs.flash,
        v.board.flash_bytes,
        v.needs.exact,
    )
