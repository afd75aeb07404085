"""Compute the source positions and weights for each output position along an axis, by the resizing rules of Pillow,
OpenCV, TensorFlow or torch.

The two axes of a picture are resampled separately, first along rows, then along columns. ``resample_kind`` names the
rounding between and after them:

    bytes     each axis gives rounded bytes, as in Pillow (and for every nearest neighbor)
    opencv    bilinear with 11-bit weights and OpenCV's shifts between the axes
    rounded   exact between the axes, then rounded to a byte, ties upwards or to even
    fraction  not rounded: TensorFlow and torch use floats, this code 16 fractional bits

The sampling rules come from Pillow's Resample.c and Geometry.c, OpenCV's resize.cpp, TensorFlow's
image_resizer_state.h and resize_bilinear_op.cc, torch's UpSample.h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.specification.record_fields import record_error

#: The fractional bits of weights. The weights of OpenCV's bilinear method have ``OPENCV_BITS``.
WEIGHT_BITS = 22
OPENCV_BITS = 11


@dataclass(frozen=True)
class Axis:
    """One axis of a resize. Output ``o`` reads source positions from ``start[o]``; ``weights[o, t]`` is the weight of
    position ``start[o] + t``."""

    start: np.ndarray  # int32 [outputs], ascending
    weights: np.ndarray  # int32 [outputs, taps]

    @property
    def outputs(self) -> int:
        return len(self.start)

    @property
    def taps(self) -> int:
        return int(self.weights.shape[1])

    def part(self, first: int, count: int) -> Axis:
        """Return an axis of ``count`` outputs, the first of which is ``first``."""
        return Axis(self.start[first : first + count], self.weights[first : first + count])


def resample_kind(method: str, convention: str) -> str:
    """Return the name of the rounding: bytes, opencv, rounded or fraction (see above)."""
    if method == "nearest" or convention == "pil":
        return "bytes"
    if convention == "opencv":
        return "opencv" if method == "bilinear" else "rounded"
    return "fraction"


def identity(size: int) -> Axis:
    """Return the axis of a side that is not resized."""
    return Axis(np.arange(size, dtype=np.int32), np.full((size, 1), 1 << WEIGHT_BITS, np.int32))


def axis(size: int, outputs: int, method: str, convention: str, *, down: bool = False) -> Axis:
    """Return the axis from ``size`` source positions to ``outputs`` positions.

    ``down`` is true for the axis along columns, whose borders OpenCV treats differently. Raises ``UsageError`` for a
    method that the convention does not have.
    """
    if method == "nearest":
        return _single(_nearest(size, outputs, convention))
    if convention in ("pil", "torch"):
        spans = _antialiased(size, outputs, method)
        if convention == "pil":
            return _axis(size, [(s, [_pil_weight(w) for w in ws]) for s, ws in spans])
    elif method == "area":
        if convention == "opencv" and outputs > size:
            raise record_error(
                "OpenCV's area method uses another rule to enlarge. Only shrinking by area is supported."
            )
        spans = _area(size, outputs)
    elif convention == "opencv":
        return _opencv_bilinear(size, outputs, down)
    else:
        spans = _two_taps(size, outputs, convention)
    return _axis(size, [(s, _integer_weights(ws)) for s, ws in spans])


def _single(at: np.ndarray) -> Axis:
    """Return the axis whose outputs copy the source positions ``at``."""
    return Axis(at.astype(np.int32), np.full((len(at), 1), 1 << WEIGHT_BITS, np.int32))


def _nearest(size: int, outputs: int, convention: str) -> np.ndarray:
    """Return the source position of each output for the nearest method."""
    if convention == "pil":
        # Pillow adds the step repeatedly. A multiplication would round differently.
        step = size / outputs
        return np.cumsum([step * 0.5, *[step] * (outputs - 1)]).astype(np.int64).clip(0, size - 1)
    if convention == "opencv":
        step = 1.0 / (outputs / size)
        return np.asarray(np.floor(np.arange(outputs) * step).astype(np.int64).clip(0, size - 1))
    x = np.arange(outputs, dtype=np.float32)
    if convention == "tf-corners" and outputs > 1:
        return np.asarray(
            np.floor(x * np.float32((size - 1) / (outputs - 1)) + np.float32(0.5)).astype(np.int64)
        )
    half = np.float32(0.5 if convention == "tf" else 0.0)
    return np.asarray(np.floor((x + half) * np.float32(size / outputs)).astype(np.int64).clip(0, size - 1))


def _antialiased(size: int, outputs: int, method: str) -> list[tuple[int, list[float]]]:
    """Return the span of each output, (first source position, weights), for a triangle (bilinear) or box (area) filter.
    If the picture shrinks, the filter is as wide as an output pixel."""
    scale = size / outputs
    wide = max(scale, 1.0)
    support = (1.0 if method == "bilinear" else 0.5) * wide
    inverse = 1.0 / wide
    spans = []
    for o in range(outputs):
        centre = (o + 0.5) * scale
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), size)
        at = [(x + first - centre + 0.5) * inverse for x in range(last - first)]
        if method == "bilinear":
            weights = [max(1.0 - abs(a), 0.0) for a in at]
        else:
            weights = [1.0 if -0.5 < a <= 0.5 else 0.0 for a in at]
        total = sum(weights)
        spans.append((first, [w / total for w in weights]))
    return spans


def _pil_weight(weight: float) -> int:
    return int(0.5 + weight * (1 << WEIGHT_BITS))


def _area(size: int, outputs: int) -> list[tuple[int, list[float]]]:
    """Return the span of each output, (first source position, weights). The weight of a source position is the share of
    the output position that it covers."""
    scale = size / outputs
    spans = []
    for o in range(outputs):
        low, high = o * scale, min((o + 1) * scale, float(size))
        first, last = math.floor(low + 1e-9), max(math.ceil(high - 1e-9), math.floor(low + 1e-9) + 1)
        weights = [max(min(high, x + 1) - max(low, x), 0.0) for x in range(first, min(last, size))]
        total = sum(weights)
        spans.append((first, [w / total for w in weights]))
    return spans


def _two_taps(size: int, outputs: int, convention: str) -> list[tuple[int, list[float]]]:
    """Return the span of each output, (first source position, weights), for TensorFlow's bilinear method: positions
    are in single precision, and there is no antialiasing."""
    x = np.arange(outputs, dtype=np.float32)
    if convention == "tf":
        at = (x + np.float32(0.5)) * np.float32(size / outputs) - np.float32(0.5)
    elif convention == "tf-corners" and outputs > 1:
        at = x * np.float32((size - 1) / (outputs - 1))
    else:
        at = x * np.float32(size / outputs)
    spans: list[tuple[int, list[float]]] = []
    for value in at:
        low = math.floor(value)
        rest = float(value) - low
        if low < 0 or low >= size - 1:
            spans.append((min(max(low, 0), size - 1), [1.0]))
        else:
            spans.append((low, [1.0 - rest, rest]))
    return spans


def _opencv_bilinear(size: int, outputs: int, down: bool) -> Axis:
    """Return OpenCV's bilinear axis.

    Beyond the centers of the outermost pixels, an output of a row has one tap. An output of a column has two taps on
    the same pixel, whose products are truncated separately. The weight of the tap that should read the other position
    is stored as a negative number.
    """
    at = ((np.arange(outputs) + 0.5) * (1.0 / (outputs / size)) - 0.5).astype(np.float32)
    floor = np.floor(at)
    one = np.float32(1 << OPENCV_BITS)
    # Ties are rounded to even, as in the processor's conversion.
    lows, seconds = floor.astype(np.int64), np.rint((at - floor) * one).astype(np.int64)
    firsts = np.rint((np.float32(1) - (at - floor)) * one).astype(np.int64)
    spans: list[tuple[int, list[int]]] = []
    for low, first, second in zip(lows.tolist(), firsts.tolist(), seconds.tolist(), strict=True):
        if 0 <= low < size - 1:
            spans.append((low, [first, second]))
        elif not down or size == 1 or not first or not second:
            spans.append((min(max(low, 0), size - 1), [1 << OPENCV_BITS]))
        elif low < 0:
            spans.append((0, [first, -second]))
        else:
            spans.append((size - 2, [-first, second]))
    return _axis(size, spans)


def _integer_weights(weights: list[float]) -> list[int]:
    """Return weights with ``WEIGHT_BITS`` fractional bits that sum to exactly 1. The largest weight absorbs the
    rounding error of the sum."""
    integer_weights = [round(w * (1 << WEIGHT_BITS)) for w in weights]
    integer_weights[integer_weights.index(max(integer_weights))] += (1 << WEIGHT_BITS) - sum(integer_weights)
    return integer_weights


def _trim_zeros(first: int, weights: list[int]) -> tuple[int, list[int]]:
    """Remove the weights that are 0 at the start and end of a span."""
    used = [k for k, w in enumerate(weights) if w] or [0]
    return first + used[0], weights[used[0] : used[-1] + 1]


def _axis(size: int, spans: list[tuple[int, list[int]]]) -> Axis:
    """Return the axis of ``spans``: (first source position, weights) of each output. All outputs get the same number of
    taps: shorter spans are padded with zeros, and moved if they would leave the source."""
    spans = [_trim_zeros(*span) for span in spans]
    taps = max(len(weights) for _, weights in spans)
    start = np.zeros(len(spans), np.int32)
    table = np.zeros((len(spans), taps), np.int32)
    for o, (first, weights) in enumerate(spans):
        start[o] = min(first, size - taps)
        at = first - start[o]
        table[o, at : at + len(weights)] = weights
    return Axis(start, table)
