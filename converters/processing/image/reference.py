"""Convert pictures to tensors with NumPy: each step processes the complete picture.

This code defines the result. The C code computes all steps in one pass and gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.image.resample import WEIGHT_BITS, Axis, axis, resample_kind
from arenite.converters.processing.specification import input_values, pixel_formats
from arenite.converters.processing.specification.image_steps import Colour, Crop, Letterbox, Resize
from arenite.converters.processing.specification.input_values import FRACTION_BITS
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing, Quantize
from arenite.converters.processing.specification.record_fields import record_error


@dataclass(frozen=True)
class PictureState:
    """An intermediate picture. ``pixels`` [height, width, channels] is uint8, or int64 with ``FRACTION_BITS``
    fractional bits if ``fraction`` is true, or the type of the model's input after the last step. ``order`` is rgb,
    bgr or grey."""

    pixels: np.ndarray
    order: str
    fraction: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


def preprocess_image(spec: Preprocessing, pixels: np.ndarray, order: str) -> np.ndarray:
    """Convert uint8 [height, width, 1 or 3] in ``order`` to the model's input [height, width, channels]."""
    *_, (_, picture) = trace(spec, pixels, order)
    return picture.pixels


def trace(spec: Preprocessing, pixels: np.ndarray, order: str) -> Iterator[tuple[object, PictureState]]:
    """Yield each step and the picture after it. The last entry is the list of the normalize and quantize steps (None if
    there are none) and the model's input."""
    picture = PictureState(pixels, order)
    for step in spec.steps:
        if isinstance(step, Colour):
            picture = _colour(step, picture)
        elif isinstance(step, Crop):
            x, y, w, h = crop_box(step, *picture.size)
            picture = PictureState(picture.pixels[y : y + h, x : x + w], picture.order, picture.fraction)
        elif isinstance(step, Resize):
            picture = _resize(picture, *resized_size(step, *picture.size), step.method, step.convention)
        elif isinstance(step, Letterbox):
            picture = _letterbox(step, picture)
        else:
            break
        yield step, picture
    tail = [s for s in spec.steps if isinstance(s, (Normalize, Quantize))]
    yield (tail or None), PictureState(_finish(spec, picture), picture.order)


def _finish(spec: Preprocessing, picture: PictureState) -> np.ndarray:
    """Return the model's input: normalize and quantize the pixels."""
    channels = picture.pixels.shape[2]
    if picture.fraction:
        return input_values.apply_affine(spec, input_values.affine(spec, channels), picture.pixels)
    table = input_values.tables(spec, channels)
    rows = [table[c if len(table) > 1 else 0][picture.pixels[:, :, c]] for c in range(channels)]
    return np.stack(rows, axis=-1)


def crop_box(step: Crop, width: int, height: int) -> tuple[int, int, int, int]:
    """Return x, y, width and height of the crop. Raises ``UsageError`` if the picture is too small."""
    if step.fraction:
        # As in TensorFlow's central_crop, the margin is rounded down and is the same on both sides.
        x, y = (int((side - side * step.fraction) / 2) for side in (width, height))
        return x, y, width - 2 * x, height - 2 * y
    rests = (width - step.width, height - step.height)
    if step.x >= 0:
        x, y = step.x, step.y
    elif step.rounding == "even":
        x, y = (round(rest / 2) for rest in rests)
    else:
        x, y = (rest // 2 for rest in rests)
    if min(rests) < 0 or x > rests[0] or y > rests[1]:
        raise record_error(
            f"Crop takes {step.width}x{step.height} at {x}, {y}, but the picture has {width}x{height} pixels."
        )
    return x, y, step.width, step.height


def resized_size(step: Resize, width: int, height: int) -> tuple[int, int]:
    """Return width and height after ``step``."""
    if not step.short_side:
        return step.width, step.height
    short, long = sorted((width, height))
    other = int(step.short_side * long / short)
    return (step.short_side, other) if width <= height else (other, step.short_side)


def letterbox_box(step: Letterbox, width: int, height: int) -> tuple[int, int, int, int]:
    """Return x, y, width and height of the resized picture in the letterbox."""
    ratio = min(step.width / width, step.height / height)
    w, h = (
        max(1, min(int(side * ratio + 0.5), limit))
        for side, limit in ((width, step.width), (height, step.height))
    )
    return (step.width - w) // 2, (step.height - h) // 2, w, h


def _colour(step: Colour, picture: PictureState) -> PictureState:
    pixels, order = picture.pixels, picture.order
    if step.to == order:
        return picture
    if order == "grey":
        return PictureState(np.repeat(pixels, 3, axis=2), step.to, picture.fraction)
    if step.to != "grey":
        return PictureState(pixels[:, :, ::-1], step.to, picture.fraction)
    if picture.fraction:
        raise record_error(
            "A colour step to grey must come before a resize that keeps fractions (tf, torch)."
        )
    return PictureState(pixel_formats.to_grey(pixels, order, step.convention), "grey")


def _letterbox(step: Letterbox, picture: PictureState) -> PictureState:
    x, y, w, h = letterbox_box(step, *picture.size)
    inner = _resize(picture, w, h, step.method, step.convention)
    channels = inner.pixels.shape[2]
    if len(step.fill) not in (1, channels):
        raise record_error(
            f"Letterbox: fill has {len(step.fill)} values, but there are {channels} channels at this point."
        )
    canvas = np.empty((step.height, step.width, channels), inner.pixels.dtype)
    canvas[:] = np.array(step.fill, canvas.dtype) << (FRACTION_BITS if inner.fraction else 0)
    canvas[y : y + h, x : x + w] = inner.pixels
    return PictureState(canvas, inner.order, inner.fraction)


def _resize(picture: PictureState, width: int, height: int, method: str, convention: str) -> PictureState:
    w, h = picture.size
    kind = resample_kind(method, convention)
    across, down = axis(w, width, method, convention), axis(h, height, method, convention, down=True)
    # If OpenCV halves both sides, it computes (sum + 2) >> 2. Otherwise it rounds ties to even.
    even = (w, h) != (2 * width, 2 * height)
    pixels = resample(picture.pixels, across, down, kind, even)
    return PictureState(pixels, picture.order, kind == "fraction")


def resample(pixels: np.ndarray, across: Axis, down: Axis, kind: str, ties_to_even: bool) -> np.ndarray:
    """Resample uint8 [height, width, channels] to the sizes of the axes.

    ``kind`` comes from ``resample_kind``. The result is uint8, or int64 with ``FRACTION_BITS`` fractional bits for the
    kind ``fraction``. ``ties_to_even`` is used for the kind ``rounded`` only.
    """
    rows = _sums(pixels.astype(np.int64), across, 1)
    half = 1 << (WEIGHT_BITS - 1)
    if kind == "bytes":
        rows = (rows + half) >> WEIGHT_BITS
        return ((_sums(rows, down, 0) + half) >> WEIGHT_BITS).astype(np.uint8)
    if kind == "opencv":
        # Each product loses its low 16 bits before the sum. A tap with a negative weight reads the position of the
        # other tap.
        rows >>= 4
        total: np.ndarray = np.zeros((), np.int64)
        for t in range(down.taps):
            at = down.start + np.where(down.weights[:, t] < 0, 1 - t, t)
            total = total + ((rows[at] * np.abs(_weight(down, t))) >> 16)
        return ((total + 2) >> 2).astype(np.uint8)
    below = 2 * WEIGHT_BITS - FRACTION_BITS
    values = (_sums(rows, down, 0) + (1 << (below - 1))) >> below
    if kind == "fraction":
        return values
    # Round to 12 fractional bits first, so that the last bits of the weights do not decide whether a value is a tie.
    values = (values + 8) >> 4
    half = 1 << 11
    odd = (values >> 12) & 1
    return ((values + (half - 1 + odd if ties_to_even else half)) >> 12).astype(np.uint8)


def _weight(side: Axis, tap: int) -> np.ndarray:
    """Return the weights of one tap as int64 [outputs, 1, 1]."""
    return side.weights[:, tap].astype(np.int64)[:, np.newaxis, np.newaxis]


def _sums(values: np.ndarray, side: Axis, dimension: int) -> np.ndarray:
    """Return the weighted sums along one dimension of int64 [height, width, channels]."""
    shape = (-1, 1, 1) if dimension == 0 else (1, -1, 1)
    taps = (
        np.take(values, side.start + t, axis=dimension) * side.weights[:, t].astype(np.int64).reshape(shape)
        for t in range(side.taps)
    )
    return sum(taps)  # type: ignore[return-value]
