"""Outputs to answers in Python and NumPy: integers throughout. The C code gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.post_plan import (
    ANCHOR_BITS,
    EXP_BITS,
    LOG2E,
    MOST,
    MOST_DIFFERENCE,
    REAL_BITS,
    BoxesPlan,
    MsePlan,
    PostPlan,
    TopKPlan,
    Values,
    exp_table,
    keys,
)


@dataclass(frozen=True)
class Scored:
    """A class and its key, which is the stored score; for float32 see ``post_plan.keys``."""

    key: int
    index: int


@dataclass(frozen=True)
class Box:
    """Edges in 16 fractional bits of the input's sides."""

    top: int
    left: int
    bottom: int
    right: int
    key: int
    index: int  # class
    anchor: int


Answer = list[Scored] | list[Box] | np.float32


def postprocess(plan: PostPlan, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Answer:
    """``inputs`` and ``outputs``: as stored, one array each; inputs are read by ``mse`` alone."""
    if isinstance(plan, TopKPlan):
        return top_k(plan, outputs[plan.step.output].reshape(-1))
    if isinstance(plan, MsePlan):
        return mse(plan, inputs[plan.step.input].reshape(-1), outputs[plan.step.output].reshape(-1))
    boxes, scores = outputs[plan.step.boxes], outputs[plan.step.scores]
    return detect(plan, boxes.reshape(plan.count, plan.stride), scores.reshape(plan.count, plan.classes))


def real(values: Values, stored: np.ndarray) -> np.ndarray:
    """int64 in ``REAL_BITS``, divided as the plan says."""
    map = values.affine
    if stored.dtype.kind == "f":
        moved = np.trunc(np.clip(np.nan_to_num(stored), -32000, 32000).astype(np.float32) * np.float32(65536))
        moved = moved.astype(np.int64)
    else:
        moved = stored.astype(np.int64) - map.offset[0]
    found = (moved * map.multiplier[0] + (1 << (map.shift[0] - 1))) >> map.shift[0]
    return np.clip(found, map.low, map.high)


def top_k(plan: TopKPlan, scores: np.ndarray) -> list[Scored]:
    found = keys(scores)
    order = np.argsort(-found, kind="stable")[: plan.step.k]
    return [Scored(int(found[i]), int(i)) for i in order if found[i] >= plan.least]


def mse(plan: MsePlan, given: np.ndarray, made: np.ndarray) -> np.float32:
    difference = np.clip(real(plan.output, made) - real(plan.input, given), -MOST_DIFFERENCE, MOST_DIFFERENCE)
    total = (difference * difference).sum().astype(np.uint64)
    return total.astype(np.float32) * np.float32(plan.unit)


def detect(plan: BoxesPlan, boxes: np.ndarray, scores: np.ndarray) -> list[Box]:
    """Each anchor's best class, the best candidates, and of these what overlaps no better one."""
    found = keys(scores)
    first = 1 if plan.step.background else 0
    best = found[:, first:].argmax(axis=1) + first
    key = found[np.arange(plan.count), best]
    order = [int(i) for i in np.argsort(-key, kind="stable") if key[i] >= plan.least]
    candidates = [
        Box(*_decode(plan, boxes[i], int(i)), int(key[i]), int(best[i]), i)
        for i in order[: plan.step.candidates]
    ]
    kept: list[Box] = []
    for box in candidates:
        if len(kept) == plan.nms.most:
            break
        if not any(
            (box.index == other.index or not plan.nms.by_class) and _overlap(plan, box, other)
            for other in kept
        ):
            kept.append(box)
    return kept


def _decode(plan: BoxesPlan, raw: np.ndarray, anchor: int) -> tuple[int, int, int, int]:
    """Top, left, bottom, right."""
    centres, sizes = real(plan.centres, raw[:2]), real(plan.sizes, raw[2:4])
    (y, x), (h, w) = (centres, sizes) if plan.step.order == "yxhw" else (centres[::-1], sizes[::-1])
    spans = []
    for k, (middle, size) in enumerate(((int(y), int(h)), (int(x), int(w)))):
        if plan.step.exponential:
            size = exponential(size)
        if plan.anchors is not None:
            place, wide = int(plan.anchors[anchor, k]), int(plan.anchors[anchor, 2 + k])
            middle = ((middle * wide) >> ANCHOR_BITS) + (place << (REAL_BITS - ANCHOR_BITS))
            size = (size * wide) >> ANCHOR_BITS
        most = MOST << REAL_BITS
        middle, size = min(max(middle, -most), most), min(max(size, 0), most)
        start = middle - (size >> 1)
        spans.append((start, start + size))
    (top, bottom), (left, right) = spans
    return top, left, bottom, right


def exponential(value: int) -> int:
    """e^value, both in ``REAL_BITS``; ``value`` is cut to [-10, 10]."""
    table = exp_table()
    most = 10 << REAL_BITS
    power = (min(max(value, -most), most) * LOG2E) >> 28
    whole, rest = power >> REAL_BITS, power & ((1 << REAL_BITS) - 1)
    step, part = rest >> 9, rest & 511
    low, high = int(table[step]), int(table[step + 1])
    return (low + (((high - low) * part) >> 9)) >> (EXP_BITS - REAL_BITS - whole)


def _overlap(plan: BoxesPlan, a: Box, b: Box) -> bool:
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    width = min(a.right, b.right) - max(a.left, b.left)
    if height <= 0 or width <= 0:
        return False
    both = height * width
    union = (a.bottom - a.top) * (a.right - a.left) + (b.bottom - b.top) * (b.right - b.left) - both
    # Cut to 47 bits, so that the product with iou fits 64.
    return (both >> 1) << REAL_BITS > (union >> 1) * plan.iou
