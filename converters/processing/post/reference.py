"""Convert a model's outputs to answers with Python, NumPy and integer arithmetic. The C code gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.processing.post.detector_reference import Box, detect
from arenite.converters.processing.post.landmark_mask_plan import NO_SCORE, MaskPlan, PointsPlan
from arenite.converters.processing.post.plan import MAX_DIFFERENCE, MsePlan, PostPlan, TopKPlan
from arenite.converters.processing.post.tensor_values import (
    REAL_BITS,
    keys,
    negative_exponential,
    real_fixed_point,
    sigmoid,
)

__all__ = ["Answer", "Box", "ScoredClass", "detect", "mask", "mse", "points", "postprocess", "top_k"]


@dataclass(frozen=True)
class ScoredClass:
    """A class and its score as an integer ``key``: the stored score (for float32 see ``tensor_values.keys``), or with
    softmax the probability with 16 fractional bits."""

    key: int
    index: int


#: Classes, boxes, a mean squared error, points (int64 [n, 3]: x, y and score with 16 fractional bits), or a mask (uint8
#: [height, width]).
Answer = list[ScoredClass] | list[Box] | np.float32 | np.ndarray


def postprocess(plan: PostPlan, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Answer:
    """Return the answer for one inference. ``inputs`` and ``outputs`` have one array of stored values per tensor; only
    ``mse`` reads the inputs."""
    if isinstance(plan, TopKPlan):
        return top_k(plan, outputs[plan.step.output].reshape(-1))
    if isinstance(plan, MsePlan):
        return mse(plan, inputs[plan.step.input].reshape(-1), outputs[plan.step.output].reshape(-1))
    if isinstance(plan, PointsPlan):
        return points(plan, outputs)
    if isinstance(plan, MaskPlan):
        return mask(plan, outputs[plan.step.output].reshape(-1))
    return detect(plan, outputs)


def top_k(plan: TopKPlan, scores: np.ndarray) -> list[ScoredClass]:
    """Return the best classes of ``scores``, best first."""
    class_keys = keys(scores)
    order = np.argsort(-class_keys, kind="stable")[: plan.step.k]
    if plan.values is None:
        return [ScoredClass(int(class_keys[i]), int(i)) for i in order if class_keys[i] >= plan.least]
    reals = real_fixed_point(plan.values, scores)
    parts = [negative_exponential(int(reals[order[0]] - value)) for value in reals]
    total = sum(parts)
    scored = [ScoredClass(((parts[i] << 16) + (total >> 1)) // total, int(i)) for i in order]
    return [each for each in scored if each.key >= plan.least]


def mse(plan: MsePlan, input: np.ndarray, output: np.ndarray) -> np.float32:
    """Return the mean squared error of the stored values ``input`` and ``output`` as real values."""
    difference = np.clip(
        real_fixed_point(plan.output, output) - real_fixed_point(plan.input, input),
        -MAX_DIFFERENCE,
        MAX_DIFFERENCE,
    )
    total = (difference * difference).sum().astype(np.uint64)
    return cast(np.float32, total.astype(np.float32) * np.float32(plan.unit))


def points(plan: PointsPlan, outputs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the landmarks as int64 [n, 3] (see ``Answer``). n is 0 if ``presence`` is below its threshold."""
    if plan.presence is not None:
        output, threshold = plan.presence
        if keys(outputs[output].reshape(-1)[:1])[0] < threshold:
            return np.empty((0, 3), np.int64)
    rows = outputs[plan.step.output].reshape(plan.count, plan.step.values)
    values = np.full((plan.count, 3), 1 << REAL_BITS, np.int64)
    values[:, 0] = real_fixed_point(plan.values, rows[:, plan.x], 1)
    values[:, 1] = real_fixed_point(plan.values, rows[:, plan.y], 0)
    if plan.score != NO_SCORE:
        scores = real_fixed_point(plan.values, rows[:, plan.score], 2)
        values[:, 2] = [sigmoid(int(s)) for s in scores] if plan.step.logits else scores
    return values


def mask(plan: MaskPlan, values: np.ndarray) -> np.ndarray:
    """Return the class of each pixel: uint8 [height, width]."""
    layout = plan.pixel
    pixels = np.arange(plan.shape[0] * plan.shape[1])[:, None]
    channels = np.arange(plan.first, plan.last)[None]
    if plan.holds_classes:
        return values.astype(np.uint8).reshape(plan.shape)
    class_keys = keys(values[layout.first + pixels * layout.step + channels * layout.field])
    classes = class_keys[:, 0] >= plan.least if plan.last - plan.first == 1 else class_keys.argmax(axis=1)
    return classes.astype(np.uint8).reshape(plan.shape)
