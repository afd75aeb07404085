"""Preprocessing specifications are written and read back, and an invalid specification is an error with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from arenite.converters.graph.model import Quantization, Tensor
from arenite.converters.processing.audio.plan import plan_audio
from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.preprocessing import (
    Preprocessing,
    Quantize,
    load_preprocessing,
)
from arenite.errors import UsageError
from tests.converters.processing.specs import audio_cases, image_cases, micro_cases
from tests.example_count import example_count

AUDIO = {"kind": "audio", "rate": 16000, "samples": 1000}
FRAME = {"do": "frame", "length": 400, "step": 160}
FFT = {"do": "fft", "length": 512}
LOG = {"do": "log", "offset": 1e-6}
RESIZE = {"do": "resize", "width": 8, "height": 8}


@settings(max_examples=example_count(60), deadline=None)
@given(image_cases())
def test_image_specifications_are_read_back(case: tuple[Preprocessing, str, int, int, np.ndarray]) -> None:
    assert Preprocessing.from_json(case[0].to_json()) == case[0]


@settings(max_examples=30, deadline=None)
@given(audio_cases())
def test_audio_specifications_are_read_back(case: tuple[Preprocessing, np.ndarray]) -> None:
    assert Preprocessing.from_json(case[0].to_json()) == case[0]


@settings(max_examples=30, deadline=None)
@given(micro_cases())
def test_micro_specifications_are_read_back(case: tuple[Preprocessing, np.ndarray]) -> None:
    assert Preprocessing.from_json(case[0].to_json()) == case[0]


def test_toml_and_json_files_are_read(tmp_path: Path) -> None:
    toml, json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text('[preprocessing.source]\nkind = "image"\n[[preprocessing.steps]]\ndo = "normalise"\n')
    json.write_text('{"source": {"kind": "image"}, "steps": [{"do": "normalise"}]}')
    assert load_preprocessing(toml) == load_preprocessing(json)


@pytest.mark.parametrize(
    ("source", "steps", "problem"),
    [
        ({"kind": "video"}, [], "kind: is 'video', expected one of image, audio"),
        ({"kind": []}, [], r"kind: is \[\], expected one of image, audio"),
        ({"kind": "image"}, [{"do": []}], r"step 1: do is \[\]"),
        ({"kind": "image", "depth": 3}, [], "does not take 'depth'"),
        ({"kind": "image", "format": "cmyk"}, [], "is 'cmyk', expected one of rgb"),
        ({"kind": "image", "width": 8}, [], "only one of width and height"),
        ({"kind": "image", "format": "yuyv", "width": 7, "height": 2}, [], "needs even sides"),
        ({"kind": "image"}, [{"do": "blur"}], "step 1: do is 'blur'"),
        ({"kind": "image"}, [{"do": "resize", "width": 8.5, "height": 8}], "expected a whole number"),
        ({"kind": "image"}, [{"do": "resize", "width": 8}], "height is 0"),
        ({"kind": "image"}, [{"do": "resize", "width": 10**400, "height": 8}], "expected a whole number"),
        ({"kind": "image"}, [{"do": "normalise", "divide": 10**400}], "expected a finite number"),
        ({"kind": "image"}, [{"do": "crop", "width": True, "height": 8}], "expected a whole number"),
        ({"kind": "image"}, [{"do": "normalise", "mean": []}], "is empty"),
        ({"kind": "image"}, [7], "step 1: is not a table"),
        ({"kind": "image"}, [{"do": "crop", "fraction": float("nan")}], "expected a finite number"),
        ({"kind": "image"}, [RESIZE | {"convention": "torch", "method": "area"}], "no method area"),
        ({"kind": "image"}, [RESIZE, RESIZE], "resized only once"),
        ({"kind": "image"}, [FRAME], "'frame' is not allowed here"),
        ({"kind": "image"}, [{"do": "normalise"}, RESIZE], "'normalise' is not allowed here"),
        ({"kind": "image"}, [{"do": "normalise", "std": 0}], "above 0"),
        ({"kind": "image"}, [{"do": "normalise", "mean": [1, 2]}], "expected 1 or 3"),
        ({"kind": "image"}, [{"do": "quantise", "dtype": "int4", "scale": 1}], "'int4', expected"),
        ({"kind": "image"}, [{"do": "quantise", "dtype": "int8"}], "lacks 'scale'"),
        (AUDIO, [FFT, FRAME, LOG], "in this order"),
        (AUDIO, [FRAME, FFT], "log are required"),
        (AUDIO, [FRAME, {"do": "fft", "length": 500}, LOG], "power of two"),
        (AUDIO, [FRAME, FFT, {"do": "log"}], "an offset or a floor"),
        ({"kind": "audio", "rate": 16000}, [FRAME, FFT, LOG], "lacks 'samples'"),
    ],
)
def test_an_invalid_specification_is_an_error(
    source: dict[str, Any], steps: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        Preprocessing.from_json({"source": source, "steps": steps})
    assert caught.value.hint


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([{"do": "crop", "width": 50, "height": 5}], "takes 50x5 at"),
        ([RESIZE, {"do": "crop", "x": 4, "y": 0, "width": 5, "height": 5}], "the picture has 8x8"),
        ([RESIZE | {"width": 90, "convention": "opencv", "method": "area"}], "Only shrinking by area"),
        ([RESIZE | {"convention": "tf"}, {"do": "colour", "to": "grey"}], "must come before a resize"),
        ([{"do": "colour", "to": "grey"}, {"do": "normalise", "mean": [1, 2, 3]}], "there are 1 channels"),
        ([{"do": "normalise", "divide": 1e-9}, {"do": "quantise", "dtype": "int8", "scale": 1e-29}], ""),
    ],
)
def test_steps_that_do_not_fit_the_image_are_an_error(steps: list[dict[str, Any]], problem: str) -> None:
    """The NumPy code and the plan of the C code give the same message. The last case is no error: for pixels that are
    bytes, a table replaces the factors, so extreme factors are allowed."""
    spec = Preprocessing.from_json({"source": {"kind": "image"}, "steps": steps})
    pixels = np.zeros((20, 30, 3), np.uint8)
    for run in (lambda: preprocess_image(spec, pixels, "rgb"), lambda: plan_image(spec, "rgb", 30, 20)):
        if problem:
            with pytest.raises(UsageError, match=problem):
                run()
        else:
            run()


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([FRAME | {"length": 600}, FFT, LOG], "600 samples do not fit"),
        (
            [FRAME | {"length": 512}, FFT | {"length": 2048}, {"do": "mel", "bins": 3, "high": 9000}, LOG],
            "at most 8000",
        ),
        ([FRAME | {"length": 512, "centre": "zeros"}, FFT | {"length": 1024}, LOG], "padding = 'both'"),
        (
            [FRAME, FFT, {"do": "mel", "bins": 4}, LOG, {"do": "mfcc", "coefficients": 5}],
            "4 bins have at most 4 coefficients, not 5",
        ),
        ([FRAME, FFT, {"do": "mel", "bins": 2, "low": 1, "high": 2}, LOG], "no bin of the spectrum"),
    ],
)
def test_steps_that_do_not_fit_the_recording_are_an_error(steps: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        plan_audio(Preprocessing.from_json({"source": AUDIO, "steps": steps}))


def test_a_recording_shorter_than_a_frame_is_an_error() -> None:
    spec = Preprocessing.from_json({"source": AUDIO | {"samples": 300}, "steps": [FRAME, FFT, LOG]})
    with pytest.raises(UsageError, match="less than a frame"):
        plan_audio(spec)


def test_binding_to_a_models_input_adds_a_quantize_step() -> None:
    spec = Preprocessing.from_json({"source": {"kind": "image"}, "steps": [RESIZE]})
    quantized = spec.bound(Tensor(0, "x", (1, 8, 8, 3), "int8", Quantization((0.5,), (3,))))
    assert quantized.quantize_step == Quantize("int8", 0.5, 3)
    assert quantized.bound(Tensor(0, "x", (1, 8, 8, 3), "float32")) == spec
    with pytest.raises(UsageError, match="which is int64"):
        spec.bound(Tensor(0, "x", (1, 8), "int64"))
