"""Prepare the call that postprocesses a frame. It calls the compiled library, or NumPy if there is no such library."""

from __future__ import annotations

import ctypes
from typing import Any

from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_postprocessing import PreparedCall, prepare_call
from arenite.converters.processing.post.plan import MsePlan, PostPlan, TopKPlan
from arenite.host.camera.runtimes.base import TensorSlot

__all__ = ["PreparedCall", "call_for"]


def call_for(plan: PostPlan, slot: TensorSlot) -> PreparedCall:
    """Return a call that reads the tensors in the runtime's memory, and writes to result buffers of its own. Each call
    overwrites the results of the previous call."""
    library = native.library()
    if library is None:
        return _reference_call(plan, slot)
    inputs, outputs = ([memory.address for memory in tensors] for tensors in (slot.inputs, slot.outputs))
    return prepare_call(library, plan, inputs, outputs)


def _reference_call(plan: PostPlan, slot: TensorSlot) -> PreparedCall:
    """Return a call of the NumPy reference, which fills the result buffers in the same way as the library."""
    from arenite.converters.processing.native import post_structs as structs
    from arenite.converters.processing.post.detector_plan import BoxesPlan
    from arenite.converters.processing.post.landmark_mask_plan import MaskPlan
    from arenite.converters.processing.post.reference import postprocess

    def answer() -> Any:
        return postprocess(
            plan, *([memory.array() for memory in tensors] for tensors in (slot.inputs, slot.outputs))
        )

    if isinstance(plan, MsePlan):
        return PreparedCall(answer, ())
    if isinstance(plan, TopKPlan):
        return _classes_call((structs.ScoredStruct * plan.step.k)(), answer)
    if isinstance(plan, BoxesPlan):
        points = (ctypes.c_int32 * max(2 * plan.points * plan.candidates, 1))()
        return _boxes_call((structs.BoxStruct * plan.candidates)(), points, answer)
    if isinstance(plan, MaskPlan):
        return _array_call((ctypes.c_uint8 * (plan.shape[0] * plan.shape[1]))(), answer)
    return _array_call((ctypes.c_int32 * (3 * plan.count))(), answer)


def _classes_call(buffer: Any, answer: Any) -> PreparedCall:
    """Return a call that stores the classes of ``answer()`` in ``buffer``, and returns their number."""

    def run() -> int:
        result = answer()
        for k, scored in enumerate(result):
            buffer[k].key, buffer[k].index = scored.key, scored.index
        return len(result)

    return PreparedCall(run, (), buffer)


def _boxes_call(buffer: Any, points: Any, answer: Any) -> PreparedCall:
    """Return a call that stores the boxes of ``answer()`` in ``buffer``, stores their landmarks in ``points``, and
    returns the number of boxes."""
    names = ("top", "left", "bottom", "right", "key", "index", "anchor")

    def run() -> int:
        result = answer()
        for k, box in enumerate(result):
            for name in names:
                setattr(buffer[k], name, getattr(box, name))
            row = len(box.points)
            points[k * row : (k + 1) * row] = box.points
        return len(result)

    return PreparedCall(run, (), buffer, points)


def _array_call(buffer: Any, answer: Any) -> PreparedCall:
    """Return a call that stores the array that ``answer()`` returns in ``buffer``."""

    def run() -> None:
        result = answer().reshape(-1)
        buffer[: len(result)] = result.tolist()

    return PreparedCall(run, (), buffer)
