"""Read landmarks and masks from the results of the C code."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from arenite.converters.processing.post.landmark_mask_plan import MaskPlan, PointsPlan
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.answers.frame_mapping import FrameMapping
from arenite.host.camera.answers.postprocess_call import PreparedCall
from arenite.host.camera.answers.scores import sigmoid
from arenite.host.camera.runtimes.base import TensorMemory

#: Coordinates and scores in the results are integers in this unit.
_UNIT = 1.0 / 65536
_CTYPES: dict[str, Any] = {
    "float32": ctypes.c_float,
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
}


def points_reader(
    plan: PointsPlan, outputs: tuple[TensorMemory, ...], call: PreparedCall
) -> Callable[[FrameMapping], Answer]:
    """Return a function that reads landmarks. Its argument maps coordinates of the input to the frame.

    The answer's score is the probability that the object is present, if the model has an output for it; else it is the
    mean score of the points.
    """
    function, arguments, results = call.function, call.arguments, call.results
    present = _presence(plan, outputs)
    triple = struct.Struct("ddd")
    scaled = np.empty((plan.count, 3))
    fixed = np.frombuffer(results, np.int32).reshape(plan.count, 3)

    def read(mapping: FrameMapping) -> Answer:
        score = present() if present is not None else None
        if score is not None and score < 0:
            return Answer("points", score=0.0)
        function(*arguments)
        np.multiply(fixed, (mapping.width * _UNIT, mapping.height * _UNIT, _UNIT), out=scaled)
        scaled[:, 0] += mapping.left
        scaled[:, 1] += mapping.top
        points = tuple(triple.iter_unpack(scaled))  # type: ignore[arg-type]
        if score is None:
            score = float(scaled[:, 2].mean())
        return Answer("points", points=points, score=score)

    return read


def _presence(plan: PointsPlan, outputs: tuple[TensorMemory, ...]) -> Callable[[], float] | None:
    """Return a function that reads the probability that the object is present, and returns -1 if it is below the
    threshold. Return None if the model has no such output."""
    if plan.presence is None:
        return None
    memory = outputs[plan.presence[0]]
    value = _CTYPES[memory.dtype].from_address(memory.address)
    step = plan.step
    scale, zero = memory.scale or 1.0, memory.zero_point

    def present() -> float:
        real = scale * (value.value - zero)
        real = sigmoid(real) if step.presence_logits else real
        return real if real >= step.threshold else -1.0

    return present


def mask_reader(plan: MaskPlan, call: PreparedCall) -> Callable[[FrameMapping], Answer]:
    """Return a function that reads the mask. Its argument maps coordinates of the input to the frame."""
    function, arguments, results = call.function, call.arguments, call.results
    view = np.frombuffer(results, np.uint8).reshape(plan.shape)

    def read(mapping: FrameMapping) -> Answer:
        function(*arguments)
        left, top = mapping.left, mapping.top
        # Copy the mask, because the buffer is overwritten for the next frame.
        return Answer(
            "mask", mask=view.copy(), mask_box=(left, top, left + mapping.width, top + mapping.height)
        )

    return read
