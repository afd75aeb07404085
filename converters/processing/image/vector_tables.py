"""Tables of the vector code in ``converters/processing/c``: the positions, order and weights of the source bytes that
each output is computed from.

image_host.h explains the tables. Vector code and scalar code give the same results. This module decides for each plan
which code runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.image.resample import WEIGHT_BITS
from arenite.converters.processing.specification.pixel_formats import (
    PIXEL_BYTES,
    PLANES,
    SUBSAMPLED,
    planes_of,
)

LANES = 8  # outputs that the vector code computes at a time
PREFETCH_ROWS = 4  # the distance in rows from the row that is computed to the row that is prefetched
#: The order of the outputs in the table ``order``: AVX2 shuffles each half of a vector on its own.
_TWOS = (0, 1, 4, 5, 2, 3, 6, 7)
_ABSENT = 0x80  # a byte of ``order`` that becomes 0

#: The family of row kernels of each format.
_INPUT_ROWS = {
    "rgb": "colours",
    "bgr": "colours",
    "rgba": "colours",
    "bgra": "colours",
    "grey": "luma",
    "rgb565": "565",
    "rgb565be": "565",
    "yuyv": "packed_yuv",
    "uyvy": "packed_yuv",
    "nv12": "paired_yuv",
    "nv21": "paired_yuv",
    "yu12": "apart_yuv",
    "yv12": "apart_yuv",
}
#: The positions of red, green and blue in a pixel of a packed format. For rgb565: the positions of the low and high
#: byte.
_PLACES = {
    "rgb": (0, 1, 2),
    "bgr": (2, 1, 0),
    "rgba": (0, 1, 2),
    "bgra": (2, 1, 0),
    "rgb565": (0, 1),
    "rgb565be": (1, 0),
}


#: The indices of the unpacked planes of red, green and blue, and the number of planes. Other formats have (0, 1, 2, 3).
_COLOURS = {"bgr": (2, 1, 0, 3), "bgra": (2, 1, 0, 3), "grey": (0, 0, 0, 1)}
#: The end of the name of the unpack kernel, for formats whose kernel is not named like the format.
_UNPACK = {"rgb": "3", "bgr": "3", "rgba": "4", "bgra": "4"}
#: The number of pixels that are unpacked at a time, and the number of taps that are multiplied at a time.
BLOCK = 16


@dataclass(frozen=True)
class VectorTables:
    """The names of the vector kernels ("" if the scalar kernel runs), and the fields of the C structure
    ``ar_host_image``."""

    row: str
    column: str
    unpack: str
    finish: str
    numbers: dict[str, int | list[int]]
    tables: dict[str, np.ndarray]


def vector_of(plan: ImagePlan) -> VectorTables | None:
    """Return the tables of the vector code for ``plan``, or None if there are too few outputs or pixels for it."""
    across = plan.across
    row_bytes = planes_of(plan.format, plan.width, plan.height)[0][0]
    has_few_taps = across.taps <= 2
    # A load reads 8 bytes of a packed row, 4 bytes of a plane, or a block of pixels.
    is_wide_enough = (
        (4 if plan.format in PLANES else LANES) <= row_bytes if has_few_taps else plan.width >= BLOCK
    )
    if across.outputs < LANES or not is_wide_enough:
        return None
    rounding = {"bytes": "bytes", "opencv": "opencv"}.get(plan.flavour, "exact")
    groups = -(-across.outputs // LANES)
    places = np.minimum(np.arange(groups) * LANES, across.outputs - LANES).astype(np.uint32)
    outputs = (places[:, np.newaxis] + np.arange(LANES)).reshape(-1)
    if has_few_taps:
        if rounding == "bytes" and across.taps == 1:
            rounding = "single"
        row, unpack = f"ar_vector_{rounding}_{_INPUT_ROWS[plan.format]}", ""
        numbers, tables = _few_taps(plan, outputs)
    else:
        row, unpack = f"ar_vector_many_{rounding}", f"ar_unpack_{_UNPACK.get(plan.format, plan.format)}"
        numbers, tables = _many_taps(plan, outputs)
    levels = _levels(plan)
    if levels is not None:
        tables["levels"] = levels
    return VectorTables(
        row,
        f"ar_vector_column_{plan.flavour}",
        unpack,
        "ar_vector_finish_affine" if levels is not None else "",
        numbers | {"groups": groups},
        tables | {"places": places},
    )


def _few_taps(
    plan: ImagePlan, outputs: np.ndarray
) -> tuple[dict[str, int | list[int]], dict[str, np.ndarray]]:
    """Return (numbers, tables) of ``VectorTables`` for one or two taps: the bytes to load for each output, their order,
    and the weights."""
    across = plan.across
    first = plan.window[0] + across.start[outputs].astype(np.int64)
    near, far, order = _fetched(plan, first, first + across.taps - 1)
    order += 8 * (np.arange(len(order)) % 2)[:, np.newaxis] * (order != _ABSENT)
    weights = np.zeros((len(outputs), 2), np.int64)
    weights[:, : across.taps] = across.weights[outputs]
    high, low = (np.zeros_like(weights), weights) if plan.flavour == "opencv" else _parts(weights)
    pairs = np.stack([part[:, 0] | part[:, 1] << 16 for part in (high, low)], axis=1)
    return {}, {
        "near": near.astype(np.uint32),
        "far": far.astype(np.uint32),
        "order": np.ascontiguousarray(order.reshape(-1, LANES, 8)[:, _TWOS], np.uint8),
        "weights": np.ascontiguousarray(pairs.reshape(-1, LANES, 2).swapaxes(1, 2), np.uint32),
        "ahead": _ahead(plan),
    }


def _many_taps(
    plan: ImagePlan, outputs: np.ndarray
) -> tuple[dict[str, int | list[int]], dict[str, np.ndarray]]:
    """Return (numbers, tables) of ``VectorTables`` for three or more taps: the part of a row to unpack, and the
    weights in blocks of 16."""
    across = plan.across
    low = plan.window[0] + int(across.start.min())
    high = plan.window[0] + int(across.start.max()) + across.taps
    if plan.format in SUBSAMPLED:
        low, high = low - low % 2, high + high % 2
    low = min(low, plan.width - BLOCK)
    count = max(high - low, BLOCK)
    blocks = -(-across.taps // BLOCK)
    weights = np.zeros((len(outputs), blocks * BLOCK), np.int64)
    weights[:, : across.taps] = across.weights[outputs]
    parts = np.stack([part.reshape(-1, blocks, BLOCK) for part in _parts(weights)], axis=2)
    numbers: dict[str, int | list[int]] = {
        "blocks": blocks,
        "stretch_from": low,
        "stretch_count": count,
        "stretch_room": count + BLOCK,
        "colours": list(_COLOURS.get(plan.format, (0, 1, 2, 3))),
    }
    return numbers, {
        "near": (plan.window[0] + across.start[outputs].astype(np.int64) - low).astype(np.uint32),
        "reach": np.ascontiguousarray(parts, np.int16),
        "stretch": np.zeros(3 * (count + BLOCK), np.uint8),
    }


def _parts(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each weight into the bits above the lowest 11, and the lowest 11 bits."""
    bits = WEIGHT_BITS // 2
    return weights >> bits, weights & ((1 << bits) - 1)


def _levels(plan: ImagePlan) -> np.ndarray | None:
    """Return ``levels`` of image_host.h: int32 [4, 24], or [2, 24] for float32. Return None if the vector code for
    fractions cannot run."""
    map, channels = plan.affine, plan.channels
    if map is None or channels != plan.working_channels or plan.canvas[0] * channels < 3 * LANES:
        return None

    def row(values: tuple[int, ...]) -> np.ndarray:
        return np.resize(np.array((values * channels)[:channels], np.int64), 3 * LANES)

    if plan.dtype == "float32":
        steps = np.resize(np.array((map.step * channels)[:channels], np.float32), 3 * LANES)
        return np.stack([row(map.offset), steps.view(np.int32)]).astype(np.int32)
    if min(map.shift) < 33:
        return None
    shifts = row(map.shift) - 32
    return np.stack([row(map.offset), row(map.multiplier), 1 << (shifts - 1), shifts]).astype(np.int32)


def _fetched(plan: ImagePlan, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for the pixels ``a`` and ``b`` of each output, the positions of the bytes to load from the first plane
    and from the chroma planes, and the order of the 8 loaded bytes."""
    order = np.full((len(a), 8), _ABSENT, np.int64)
    far = np.zeros_like(a)
    if plan.format in PLANES:
        near = np.minimum(a, plan.width - 2)
        paired = PLANES[plan.format] == 2
        far = np.minimum(a // 2, plan.width // 2 - 2) * (2 if paired else 1)
        u, v = (
            (3, 2) if plan.format == "nv21" else (4, 2) if plan.format == "yv12" else (2, 3 if paired else 4)
        )
        for tap, x in enumerate((a, b)):
            chroma = (x // 2) * (2 if paired else 1) - far
            order[:, 2 * tap] = x - near
            order[:, 2 * tap + 1] = u + chroma
            order[:, 2 * tap + 4] = v + chroma
        return near, far, order
    size = PIXEL_BYTES[plan.format]
    near = np.minimum((a // 2 * 2 if plan.format in ("yuyv", "uyvy") else a) * size, plan.width * size - 8)
    for tap, x in enumerate((a, b)):
        if plan.format in ("yuyv", "uyvy"):
            luma = 0 if plan.format == "yuyv" else 1
            pair = x // 2 * 4 - near
            order[:, 2 * tap] = x * 2 + luma - near
            order[:, 2 * tap + 1] = pair + 1 - luma
            order[:, 2 * tap + 4] = pair + 3 - luma
        elif plan.format == "grey":
            order[:, 2 * tap] = x - near
        else:
            places = [x * size - near + k for k in _PLACES[plan.format]]
            order[:, 2 * tap], order[:, 2 * tap + 1] = places[:2]
            if len(places) == 3:
                order[:, 2 * tap + 4] = places[2]
    return near, far, order


def _ahead(plan: ImagePlan) -> np.ndarray:
    """Return the row to prefetch for each source row from the window's top: the row that is read ``PREFETCH_ROWS`` rows
    later, counting only rows that are read."""
    down = plan.down
    ahead = np.arange(plan.height - plan.window[1], dtype=np.uint16)
    read = np.zeros(len(ahead), bool)
    read[down.start.astype(np.int64)[:, np.newaxis] + np.arange(down.taps)] = True
    rows = np.flatnonzero(read)
    ahead[rows[:-PREFETCH_ROWS]] = rows[PREFETCH_ROWS:]
    return ahead
