"""The structs of ``converters/processing/c/post/post.h`` as ctypes classes, and functions that fill them from plans."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from arenite.converters.processing.native.structs import AffineStruct, address, affine_fields, fill
from arenite.converters.processing.post.tensor_values import TYPE_CODES, TensorReader, exp_table

if TYPE_CHECKING:
    from arenite.converters.processing.post.detector_plan import BoxesPlan, ElementLayout
    from arenite.converters.processing.post.landmark_mask_plan import MaskPlan, PointsPlan
    from arenite.converters.processing.post.plan import MsePlan, TopKPlan

_P, _U8, _U16, _U32, _I32 = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_int32


class LayoutStruct(ctypes.Structure):
    _fields_ = [(n, _U32) for n in ("first", "step", "field")]


class ScoredStruct(ctypes.Structure):
    _fields_ = [("key", _I32), ("index", _U32)]


class SoftmaxStruct(ctypes.Structure):
    _fields_ = [
        ("powers", _P),
        ("values", AffineStruct),
        *((n, _U32) for n in ("dtype", "count", "k")),
        ("least", _I32),
    ]


class BoxStruct(ctypes.Structure):
    _fields_ = [
        *((n, _I32) for n in ("top", "left", "bottom", "right", "key")),
        ("index", _U16),
        ("anchor", _U16),
    ]


class BoxesStruct(ctypes.Structure):
    _fields_ = [
        ("anchors", _P),
        ("powers", _P),
        *((n, AffineStruct) for n in ("centres", "sizes", "numbers")),
        *((n, LayoutStruct) for n in ("box", "score", "object", "label")),
        *((n, _I32) for n in ("least", "least_object", "iou")),
        *((n, _U32) for n in ("boxes_dtype", "scores_dtype", "labels_dtype")),
        *((n, _U16) for n in ("count", "classes", "first_class", "candidates", "most")),
        *((n, _U16) for n in ("points", "point_first", "point_values")),
        ("object_zero", _I32),
        *((n, _U8) for n in ("x_first", "corners", "exponential", "by_class")),
        *((n, _U8) for n in ("average", "logits", "objectness", "labelled")),
    ]


class SquaresStruct(ctypes.Structure):
    _fields_ = [
        ("input", AffineStruct),
        ("output", AffineStruct),
        ("unit", ctypes.c_float),
        *((n, _U32) for n in ("input_dtype", "output_dtype", "count")),
    ]


class LandmarksStruct(ctypes.Structure):
    _fields_ = [
        ("powers", _P),
        ("values", AffineStruct),
        ("dtype", _U32),
        ("count", _U16),
        ("step", _U16),
        *((n, _U8) for n in ("y", "x", "score")),
    ]


class SegmentsStruct(ctypes.Structure):
    _fields_ = [
        ("pixel", LayoutStruct),
        ("dtype", _U32),
        ("count", _U32),
        ("least", _I32),
        ("first", _U16),
        ("last", _U16),
        ("given", _U8),
    ]


def values_fields(values: TensorReader) -> dict[str, Any]:
    """Return the fields of the ``ar_affine`` that reads a tensor."""
    return affine_fields(values.affine, values.dtype)


def softmax_fields(plan: TopKPlan) -> dict[str, Any]:
    """Return the fields of ``ar_softmax`` that are numbers."""
    return {"dtype": TYPE_CODES[plan.dtype], "count": plan.count, "k": plan.step.k, "least": plan.least}


def layout_fields(layout: ElementLayout | None) -> dict[str, Any]:
    """Return the fields of ``ar_layout``; all are 0 for None."""
    if layout is None:
        return {"first": 0, "step": 0, "field": 0}
    return {"first": layout.first, "step": layout.step, "field": layout.field}


def boxes_layouts(plan: BoxesPlan) -> dict[str, dict[str, Any]]:
    """Return the fields of ``ar_boxes`` that are layouts."""
    layouts = {"box": plan.box, "score": plan.score, "object": plan.object, "label": plan.label}
    return {name: layout_fields(layout) for name, layout in layouts.items()}


def boxes_values(plan: BoxesPlan) -> dict[str, dict[str, Any]]:
    """Return the fields of ``ar_boxes`` that are affine maps."""
    return {name: values_fields(getattr(plan, name)) for name in ("centres", "sizes", "numbers")}


def boxes_powers(plan: BoxesPlan) -> bool:
    """Return whether ``ar_boxes`` needs the table of powers of two (``exp_table``)."""
    return plan.exponential or (plan.nms.average and plan.logits)


def boxes_fields(plan: BoxesPlan) -> dict[str, Any]:
    """Return the fields of ``ar_boxes`` that are numbers."""
    return {
        "least": plan.least,
        "least_object": plan.least_object,
        "iou": plan.iou,
        "boxes_dtype": TYPE_CODES[plan.centres.dtype],
        "scores_dtype": TYPE_CODES[plan.numbers.dtype],
        "labels_dtype": TYPE_CODES[plan.labels],
        "count": plan.count,
        "classes": plan.classes,
        "first_class": plan.first_class,
        "candidates": plan.candidates,
        "most": plan.nms.most,
        "points": plan.points,
        "point_first": plan.point_first,
        "point_values": plan.point_values,
        "object_zero": plan.object_zero,
        "x_first": int(plan.x_first),
        "corners": int(plan.corners),
        "exponential": int(plan.exponential),
        "by_class": int(plan.nms.by_class),
        "average": int(plan.nms.average),
        "logits": int(plan.logits),
        "objectness": int(plan.object is not None),
        "labelled": int(plan.label is not None),
    }


def squares_fields(plan: MsePlan) -> dict[str, Any]:
    """Return the fields of ``ar_squares`` that are numbers."""
    return {
        "unit": plan.unit,
        "input_dtype": TYPE_CODES[plan.input.dtype],
        "output_dtype": TYPE_CODES[plan.output.dtype],
        "count": plan.count,
    }


def landmarks_fields(plan: PointsPlan) -> dict[str, Any]:
    """Return the fields of ``ar_landmarks`` that are numbers."""
    return {
        "dtype": TYPE_CODES[plan.values.dtype],
        "count": plan.count,
        "step": plan.step.values,
        "y": plan.y,
        "x": plan.x,
        "score": plan.score,
    }


def landmarks_powers(plan: PointsPlan) -> bool:
    """Return whether ``ar_landmarks`` needs the table of powers of two (``exp_table``)."""
    return plan.step.logits and plan.step.score is not None


def segments_fields(plan: MaskPlan) -> dict[str, Any]:
    """Return the fields of ``ar_segments`` that are numbers."""
    return {
        "dtype": TYPE_CODES[plan.dtype],
        "count": plan.shape[0] * plan.shape[1],
        "least": plan.least,
        "first": plan.first,
        "last": plan.last,
        "given": int(plan.holds_classes),
    }


def softmax_struct(plan: TopKPlan) -> SoftmaxStruct:
    assert plan.values is not None
    struct = SoftmaxStruct()
    _set_powers(struct, True)
    fill(struct, softmax_fields(plan))
    fill(struct.values, values_fields(plan.values))
    return struct


def boxes_struct(plan: BoxesPlan) -> BoxesStruct:
    struct = BoxesStruct()
    _set_powers(struct, boxes_powers(plan))
    struct.anchors, struct.anchors_array = address(plan.anchors), plan.anchors
    fill(struct, boxes_fields(plan))
    for name, fields in (*boxes_layouts(plan).items(), *boxes_values(plan).items()):
        fill(getattr(struct, name), fields)
    return struct


def squares_struct(plan: MsePlan) -> SquaresStruct:
    struct = SquaresStruct()
    fill(struct, squares_fields(plan))
    fill(struct.input, values_fields(plan.input))
    fill(struct.output, values_fields(plan.output))
    return struct


def landmarks_struct(plan: PointsPlan) -> LandmarksStruct:
    struct = LandmarksStruct()
    _set_powers(struct, landmarks_powers(plan))
    fill(struct, landmarks_fields(plan))
    fill(struct.values, values_fields(plan.values))
    return struct


def segments_struct(plan: MaskPlan) -> SegmentsStruct:
    struct = SegmentsStruct()
    fill(struct, segments_fields(plan))
    fill(struct.pixel, layout_fields(plan.pixel))
    return struct


def _set_powers(struct: Any, needed: bool) -> None:
    """Set the table of powers of two if it is ``needed``. An attribute keeps the array alive as long as the struct."""
    struct.powers_array = exp_table() if needed else None
    struct.powers = address(struct.powers_array)
