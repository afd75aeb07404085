"""The vector code of the processor gives the bytes of the NumPy code for every pixel format, resize method and
convention (the library whose resizing is computed)."""

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
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, color_order, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing

WIDTH, HEIGHT = 70, 46


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """Return the compiled library, if it has vector code for this processor."""
    loaded = native.library()
    if loaded is None:
        pytest.skip(native.unavailable_reason())
    if not vector_code(loaded):
        pytest.skip("this processor has no vector code")
    return loaded


def spec_of(*steps: dict[str, Any]) -> Preprocessing:
    """Return the preprocessing of images with ``steps``."""
    return Preprocessing.from_json({"source": {"kind": "image"}, "steps": list(steps)})


def cases(convention: str, method: str) -> list[list[dict[str, Any]]]:
    """Return lists of steps that resize to a much smaller, a slightly smaller and a larger size. Some also crop,
    letterbox or change colors."""
    method_fields: dict[str, Any] = {"method": method, "convention": convention}
    quantize = {"do": "quantise", "dtype": "int8", "scale": 1.0, "zero_point": -128}
    step_lists: list[list[dict[str, Any]]] = [
        [{"do": "resize", "width": 13, "height": 9, **method_fields}, quantize],
        [
            {"do": "colour", "to": "grey"},
            {"do": "resize", "width": 33, "height": 45, **method_fields},
            quantize,
        ],
        [
            {"do": "colour", "to": "bgr"},
            {"do": "crop", "x": 5, "y": 3, "width": 61, "height": 40},
            {"do": "letterbox", "width": 24, "height": 30, "fill": [1, 2, 3], **method_fields},
            {"do": "normalise", "divide": 255.0, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]},
        ],
    ]
    if (convention, method) != ("opencv", "area"):
        step_lists.append([{"do": "resize", "width": 99, "height": 77, **method_fields}, quantize])
    return step_lists


@pytest.mark.parametrize("format", FORMATS)
def test_every_resize_method_and_convention_is_exact(library: ctypes.CDLL, format: str) -> None:
    data = np.random.default_rng(3).integers(0, 256, buffer_bytes(format, WIDTH, HEIGHT), np.uint8)
    # Extreme values, so that sums reach the ends of their ranges.
    data[: len(data) // 3] = 255 * (data[: len(data) // 3] > 127)
    pixels = unpack(data, format, WIDTH, HEIGHT)
    for convention, methods in PAIRS.items():
        for method in methods:
            for steps in cases(convention, method):
                if format == "grey" and steps[0].get("to") == "bgr":
                    steps = [{"do": "colour", "to": "rgb"}, *steps[:2], steps[2] | {"fill": [9]}, steps[3]]
                spec = spec_of(*steps)
                compiled = CompiledImage(library, plan_image(spec, format, WIDTH, HEIGHT))
                assert compiled.code == vector_code(library)
                expected = preprocess_image(spec, pixels, color_order(format))
                assert compiled.run(data).tobytes() == expected.tobytes(), (convention, method, steps)


@pytest.mark.parametrize("format", FORMATS)
def test_colors_of_every_format_are_exact(library: ctypes.CDLL, format: str) -> None:
    """The random data are large enough to contain every luma value with many chroma values."""
    width, height = 256, 256
    data = np.random.default_rng(4).integers(0, 256, buffer_bytes(format, width, height), np.uint8)
    spec = spec_of()
    compiled = CompiledImage(library, plan_image(spec, format, width, height))
    expected = preprocess_image(spec, unpack(data, format, width, height), color_order(format))
    assert compiled.run(data).tobytes() == expected.tobytes()


def test_small_images_use_the_plain_code(library: ctypes.CDLL) -> None:
    step = {"do": "resize", "width": 7, "height": 9, "convention": "opencv"}
    # Outputs of fewer than 8 columns, and sources of 2 or 15 columns, are too narrow for the vector code.
    assert vector_of(plan_image(spec_of(step), "rgb", 64, 48)) is None
    step["width"] = 8
    assert vector_of(plan_image(spec_of(step), "rgb", 64, 48)) is not None
    assert vector_of(plan_image(spec_of(step), "yuyv", 2, 48)) is None
    assert vector_of(plan_image(spec_of(step | {"convention": "pil"}), "rgb", 15, 48)) is None
