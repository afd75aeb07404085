"""A picture whose source rows arrive one by one gives the bytes of the whole picture."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from arenite.converters.processing.image.plan import ImagePlan, plan_image
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_preprocessing import CompiledImage
from arenite.converters.processing.native.structs import PictureStruct
from arenite.converters.processing.specification.image_steps import PAIRS
from arenite.converters.processing.specification.input_values import ELEMENT_BYTES
from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES, buffer_bytes
from arenite.converters.processing.specification.preprocessing import Preprocessing

WIDTH, HEIGHT = 38, 30
_U32 = ctypes.c_uint32
QUANTISE = {"do": "quantise", "dtype": "int8", "scale": 1.0, "zero_point": -128}


class _Rows(ctypes.Structure):
    """The struct ``ar_image_rows``."""

    _fields_ = [
        ("rows", ctypes.c_void_p),
        ("line", ctypes.c_void_p),
        *((n, _U32) for n in ("bytes", "next", "slot")),
    ]


def plan_of(format: str, *steps: dict[str, Any]) -> ImagePlan:
    """Return the plan of ``steps`` for a picture of ``format``."""
    spec = Preprocessing.from_json({"source": {"kind": "image"}, "steps": [*steps, QUANTISE]})
    return plan_image(spec, format, WIDTH, HEIGHT)


def row_by_row(library: ctypes.CDLL, plan: ImagePlan, data: np.ndarray) -> bytes:
    """Return the result for the rows of ``data``, each of which is overwritten before the next one arrives."""
    compiled = CompiledImage(library, plan, plain=True)
    image, state = ctypes.byref(compiled._struct), _Rows()
    library.ar_image_begin(image, ctypes.byref(state), ctypes.c_void_p(compiled._scratch.ctypes.data))
    out = np.zeros((plan.canvas[1], plan.canvas[0] * plan.channels * ELEMENT_BYTES[plan.dtype]), np.uint8)
    row = np.empty(WIDTH * PIXEL_BYTES[plan.format], np.uint8)
    picture = PictureStruct()
    picture.plane[0] = row.ctypes.data
    y = 0
    for k, source in enumerate(data.reshape(HEIGHT, -1)):
        row[:] = source
        library.ar_image_arrive(image, ctypes.byref(state), ctypes.byref(picture), _U32(k), _U32(y))
        while y < len(out) and library.ar_image_is_ready(image, _U32(k + 1), _U32(y)):
            to = ctypes.c_void_p(out[y].ctypes.data)
            library.ar_image_row(image, ctypes.byref(state), ctypes.byref(picture), _U32(y), to)
            y += 1
    assert y == len(out)
    return out.tobytes()


def cases(convention: str, method: str) -> list[list[dict[str, Any]]]:
    """Return lists of steps: smaller, larger, cut, and with margins."""
    kind: dict[str, Any] = {"method": method, "convention": convention}
    lists: list[list[dict[str, Any]]] = [
        [],
        [{"do": "crop", "x": 3, "y": 5, "width": 20, "height": 14}],
        [{"do": "resize", "width": 11, "height": 7, **kind}],
        [
            {"do": "crop", "x": 2, "y": 3, "width": 24, "height": 20},
            {"do": "resize", "width": 12, "height": 15, **kind},
        ],
        [{"do": "letterbox", "width": 16, "height": 22, "fill": [9], **kind}],
        [
            {"do": "resize", "width": 20, "height": 16, **kind},
            {"do": "crop", "x": 1, "y": 2, "width": 9, "height": 11},
        ],
    ]
    if (convention, method) != ("opencv", "area"):
        lists.append([{"do": "resize", "width": 50, "height": 47, **kind}])
    return lists


@pytest.mark.parametrize("format", ["grey", "rgb", "rgb565be", "yuyv", "bgra"])
def test_rows_give_the_bytes_of_the_whole_picture(format: str) -> None:
    library = native.library()
    if library is None:
        pytest.skip(native.unavailable_reason())
    data = np.random.default_rng(8).integers(0, 256, buffer_bytes(format, WIDTH, HEIGHT), np.uint8)
    for convention, methods in PAIRS.items():
        for method in methods:
            for steps in cases(convention, method):
                plan = plan_of(format, *steps)
                expected = CompiledImage(library, plan, plain=True).run(data)
                assert row_by_row(library, plan, data) == expected.tobytes(), (convention, method, steps)
