"""Vector code for hosts: every format, method and convention, and that it is what runs."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.image.vector_tables import vector_of
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_preprocessing import CompiledImage
from arenite.converters.processing.native.structs import vector_code
from arenite.converters.processing.specification.image_steps import FORMATS, PAIRS
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, order_of, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing

WIDTH, HEIGHT = 70, 46


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = native.library()
    if found is None:
        pytest.skip(native.unavailable_reason())
    if not vector_code(found):
        pytest.skip("this processor has no vector code")
    return found


def spec_of(*steps: dict[str, Any]) -> Preprocessing:
    return Preprocessing.from_json({"source": {"kind": "image"}, "steps": list(steps)})


def cases(convention: str, method: str) -> list[list[dict[str, Any]]]:
    """Much smaller, a little smaller, larger; with margins, a window, and the three working colours."""
    how: dict[str, Any] = {"method": method, "convention": convention}
    quantise = {"do": "quantise", "dtype": "int8", "scale": 1.0, "zero_point": -128}
    found: list[list[dict[str, Any]]] = [
        [{"do": "resize", "width": 13, "height": 9, **how}, quantise],
        [{"do": "colour", "to": "grey"}, {"do": "resize", "width": 33, "height": 45, **how}, quantise],
        [
            {"do": "colour", "to": "bgr"},
            {"do": "crop", "x": 5, "y": 3, "width": 61, "height": 40},
            {"do": "letterbox", "width": 24, "height": 30, "fill": [1, 2, 3], **how},
            {"do": "normalise", "divide": 255.0, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]},
        ],
    ]
    if (convention, method) != ("opencv", "area"):
        found.append([{"do": "resize", "width": 99, "height": 77, **how}, quantise])
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_every_method_and_convention(library: ctypes.CDLL, format: str) -> None:
    data = np.random.default_rng(3).integers(0, 256, buffer_bytes(format, WIDTH, HEIGHT), np.uint8)
    data[: len(data) // 3] = 255 * (data[: len(data) // 3] > 127)  # sums at the ends of their ranges
    pixels = unpack(data, format, WIDTH, HEIGHT)
    for convention, methods in PAIRS.items():
        for method in methods:
            for steps in cases(convention, method):
                if format == "grey" and steps[0].get("to") == "bgr":
                    steps = [{"do": "colour", "to": "rgb"}, *steps[:2], steps[2] | {"fill": [9]}, steps[3]]
                spec = spec_of(*steps)
                compiled = CompiledImage(library, plan_image(spec, format, WIDTH, HEIGHT))
                assert compiled.code == vector_code(library)
                want = preprocess_image(spec, pixels, order_of(format))
                assert compiled.run(data).tobytes() == want.tobytes(), (convention, method, steps)


@pytest.mark.parametrize("format", FORMATS)
def test_all_colours_of_yuv(library: ctypes.CDLL, format: str) -> None:
    """Every luma with many chromas: the sums of constants are those of the definition."""
    width, height = 256, 256
    data = np.random.default_rng(4).integers(0, 256, buffer_bytes(format, width, height), np.uint8)
    spec = spec_of()
    compiled = CompiledImage(library, plan_image(spec, format, width, height))
    want = preprocess_image(spec, unpack(data, format, width, height), order_of(format))
    assert compiled.run(data).tobytes() == want.tobytes()


def test_what_is_too_small_stays_with_the_plain_code(library: ctypes.CDLL) -> None:
    step = {"do": "resize", "width": 7, "height": 9, "convention": "opencv"}
    assert vector_of(plan_image(spec_of(step), "rgb", 64, 48)) is None
    step["width"] = 8
    assert vector_of(plan_image(spec_of(step), "rgb", 64, 48)) is not None
    assert vector_of(plan_image(spec_of(step), "yuyv", 2, 48)) is None
    assert vector_of(plan_image(spec_of(step | {"convention": "pil"}), "rgb", 15, 48)) is None
