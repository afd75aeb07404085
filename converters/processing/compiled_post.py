"""Postprocessing run by the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.converters.importers.schema import TYPE_CODES
from arenite.converters.processing.native_structs import Affine, address, affine_fields, fill
from arenite.converters.processing.post import Answer, Box, Scored
from arenite.converters.processing.post_plan import (
    BoxesPlan,
    MsePlan,
    PostPlan,
    TopKPlan,
    Values,
    exp_table,
)

_P, _U8, _U16, _U32, _I32 = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_int32


class _Scored(ctypes.Structure):
    _fields_ = [("key", _I32), ("index", _U32)]


class _Box(ctypes.Structure):
    _fields_ = [
        *((n, _I32) for n in ("top", "left", "bottom", "right", "key")),
        ("index", _U16),
        ("anchor", _U16),
    ]


class _Boxes(ctypes.Structure):
    _fields_ = [
        ("anchors", _P),
        ("powers", _P),
        ("centres", Affine),
        ("sizes", Affine),
        ("least", _I32),
        ("iou", _I32),
        ("boxes_dtype", _U32),
        ("scores_dtype", _U32),
        *((n, _U16) for n in ("count", "stride", "classes", "first_class", "candidates", "most")),
        ("x_first", _U8),
        ("by_class", _U8),
    ]


class _Squares(ctypes.Structure):
    _fields_ = [
        ("input", Affine),
        ("output", Affine),
        ("unit", ctypes.c_float),
        *((n, _U32) for n in ("input_dtype", "output_dtype", "count")),
    ]


def boxes_fields(plan: BoxesPlan) -> dict[str, Any]:
    """The fields of ``ar_boxes`` that are numbers."""
    return {
        "least": plan.least,
        "iou": plan.iou,
        "boxes_dtype": TYPE_CODES[plan.centres.dtype],
        "scores_dtype": TYPE_CODES[plan.scores],
        "count": plan.count,
        "stride": plan.stride,
        "classes": plan.classes,
        "first_class": int(plan.step.background),
        "candidates": plan.step.candidates,
        "most": plan.nms.most,
        "x_first": int(plan.step.order == "xywh"),
        "by_class": int(plan.nms.by_class),
    }


def squares_fields(plan: MsePlan) -> dict[str, Any]:
    """The fields of ``ar_squares`` that are numbers."""
    return {
        "unit": plan.unit,
        "input_dtype": TYPE_CODES[plan.input.dtype],
        "output_dtype": TYPE_CODES[plan.output.dtype],
        "count": plan.count,
    }


def values_fields(values: Values) -> dict[str, Any]:
    """The fields of the ``ar_affine`` that reads a tensor."""
    return affine_fields(values.affine, values.dtype)


class CompiledPost:
    """A plan as the C code takes it; ``run`` does what ``post.postprocess`` does."""

    def __init__(self, library: ctypes.CDLL, plan: PostPlan) -> None:
        self._library, self._plan = library, plan
        self._kept: list[Any] = []
        library.ar_mse.restype = ctypes.c_float
        library.ar_top_k.restype = library.ar_detect.restype = _U32
        if isinstance(plan, BoxesPlan):
            self._boxes = _Boxes()
            self._kept = [plan.anchors, exp_table() if plan.step.exponential else None]
            self._boxes.anchors, self._boxes.powers = map(address, self._kept)
            fill(self._boxes, boxes_fields(plan))
            fill(self._boxes.centres, values_fields(plan.centres))
            fill(self._boxes.sizes, values_fields(plan.sizes))
        elif isinstance(plan, MsePlan):
            self._squares = _Squares()
            fill(self._squares, squares_fields(plan))
            fill(self._squares.input, values_fields(plan.input))
            fill(self._squares.output, values_fields(plan.output))

    def run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Answer:
        plan = self._plan
        if isinstance(plan, TopKPlan):
            scores = np.ascontiguousarray(outputs[plan.step.output])
            best = (_Scored * plan.step.k)()
            count = self._library.ar_top_k(
                ctypes.c_void_p(scores.ctypes.data),
                _U32(TYPE_CODES[plan.dtype]),
                _U32(plan.count),
                _U32(plan.step.k),
                _I32(plan.least),
                best,
            )
            return [Scored(s.key, s.index) for s in best[:count]]
        if isinstance(plan, MsePlan):
            given = np.ascontiguousarray(inputs[plan.step.input])
            made = np.ascontiguousarray(outputs[plan.step.output])
            pointers = (ctypes.c_void_p(a.ctypes.data) for a in (given, made))
            return np.float32(self._library.ar_mse(ctypes.byref(self._squares), *pointers))
        boxes = np.ascontiguousarray(outputs[plan.step.boxes])
        scores = np.ascontiguousarray(outputs[plan.step.scores])
        found = (_Box * plan.step.candidates)()
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (boxes, scores))
        count = self._library.ar_detect(ctypes.byref(self._boxes), *pointers, found)
        names = [field[0] for field in _Box._fields_]
        return [Box(*(getattr(b, name) for name in names)) for b in found[:count]]
