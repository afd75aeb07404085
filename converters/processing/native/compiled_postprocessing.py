"""Run postprocessing with the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arenite.converters.processing.native import post_structs as structs
from arenite.converters.processing.post.plan import MsePlan, PostPlan, TopKPlan
from arenite.converters.processing.post.tensor_values import TYPE_CODES

if TYPE_CHECKING:
    from arenite.converters.processing.post.detector_plan import BoxesPlan

_P, _U32, _I32 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int32


@dataclass(frozen=True)
class PreparedCall:
    """A prepared call ``function(*arguments)``. It reads the tensors in place and fills ``results`` and ``points``."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    results: Any = None  # a ctypes array of classes, boxes, points or mask values
    points: Any = None  # a ctypes array of the points of the boxes


def prepare_call(
    library: ctypes.CDLL, plan: PostPlan, inputs: Sequence[int], outputs: Sequence[int]
) -> PreparedCall:
    """Return the call for ``plan``. ``inputs`` and ``outputs`` are the addresses of the tensors, which must stay
    valid."""
    if isinstance(plan, TopKPlan):
        return _top_k(library, plan, outputs[plan.step.output])
    if isinstance(plan, MsePlan):
        library.ar_mse.restype = ctypes.c_float
        squares = structs.squares_struct(plan)
        places = (_P(inputs[plan.step.input]), _P(outputs[plan.step.output]))
        return PreparedCall(library.ar_mse, (ctypes.byref(squares), *places))
    from arenite.converters.processing.post.detector_plan import BoxesPlan

    if isinstance(plan, BoxesPlan):
        return _detect(library, plan, outputs)
    from arenite.converters.processing.post.landmark_mask_plan import PointsPlan

    if isinstance(plan, PointsPlan):
        library.ar_points.restype = None
        points = (_I32 * (3 * plan.count))()
        landmarks = ctypes.byref(structs.landmarks_struct(plan))
        return PreparedCall(library.ar_points, (landmarks, _P(outputs[plan.step.output]), points), points)
    library.ar_mask.restype = None
    mask = (ctypes.c_uint8 * (plan.shape[0] * plan.shape[1]))()
    segments = ctypes.byref(structs.segments_struct(plan))
    return PreparedCall(library.ar_mask, (segments, _P(outputs[plan.step.output]), mask), mask)


def _top_k(library: ctypes.CDLL, plan: TopKPlan, scores: int) -> PreparedCall:
    classes = (structs.ScoredStruct * plan.step.k)()
    if plan.values is not None:
        library.ar_top_k_softmax.restype = _U32
        softmax = ctypes.byref(structs.softmax_struct(plan))
        return PreparedCall(library.ar_top_k_softmax, (softmax, _P(scores), classes), classes)
    library.ar_top_k.restype = _U32
    numbers = (_U32(TYPE_CODES[plan.dtype]), _U32(plan.count), _U32(plan.step.k), _I32(plan.least))
    return PreparedCall(library.ar_top_k, (_P(scores), *numbers, classes), classes)


def _detect(library: ctypes.CDLL, plan: BoxesPlan, outputs: Sequence[int]) -> PreparedCall:
    library.ar_detect.restype = _U32
    boxes = (structs.BoxStruct * plan.candidates)()
    points = (_I32 * max(2 * plan.points * plan.candidates, 1))()
    places = (_P(None if i is None else outputs[i]) for i in plan.outputs)
    return PreparedCall(
        library.ar_detect, (ctypes.byref(structs.boxes_struct(plan)), *places, boxes, points), boxes, points
    )


class CompiledPost:
    """A plan for the C code. ``run`` gives the same result as ``reference.postprocess``."""

    def __init__(self, library: ctypes.CDLL, plan: PostPlan) -> None:
        self._library, self._plan = library, plan

    def run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Any:
        """Return the ``reference.Answer`` for one inference."""
        from arenite.converters.processing.post.landmark_mask_plan import MaskPlan, PointsPlan
        from arenite.converters.processing.post.reference import ScoredClass
        from arenite.converters.processing.post.tensor_values import keys

        plan = self._plan
        input_arrays, output_arrays = (
            [np.ascontiguousarray(a) for a in arrays] for arrays in (inputs, outputs)
        )
        call = prepare_call(
            self._library, plan, [a.ctypes.data for a in input_arrays], [a.ctypes.data for a in output_arrays]
        )
        if isinstance(plan, PointsPlan) and plan.presence is not None:
            output, threshold = plan.presence
            if keys(output_arrays[output].reshape(-1)[:1])[0] < threshold:
                return np.empty((0, 3), np.int64)
        result = call.function(*call.arguments)
        if isinstance(plan, TopKPlan):
            return [ScoredClass(s.key, s.index) for s in call.results[:result]]
        if isinstance(plan, MsePlan):
            return np.float32(result)
        if isinstance(plan, PointsPlan):
            return np.array(call.results, np.int64).reshape(plan.count, 3)
        if isinstance(plan, MaskPlan):
            return np.array(call.results, np.uint8).reshape(plan.shape)
        return [_box(plan, call, k) for k in range(result)]


def _box(plan: BoxesPlan, call: PreparedCall, k: int) -> Any:
    """Return box ``k`` of the results of ``call``."""
    from arenite.converters.processing.post.reference import Box

    box, row = call.results[k], 2 * plan.points
    edges = box.top, box.left, box.bottom, box.right
    return Box(*edges, box.key, box.index, box.anchor, tuple(call.points[k * row : (k + 1) * row]))
