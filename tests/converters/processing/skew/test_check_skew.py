"""The skew check compares Arenite's preprocessing steps with the libraries that users train with, such as Pillow and
OpenCV. It finds differences that these tests introduce."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from arenite.converters.processing.image import reference
from arenite.converters.processing.skew import image_libraries
from arenite.converters.processing.skew.check_skew import check_skew
from arenite.converters.processing.skew.framework_processes import Frameworks
from arenite.converters.processing.specification.image_steps import PAIRS
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError

pytest.importorskip("PIL.Image", reason="needs Pillow")
pytest.importorskip("scipy", reason="needs scipy")
cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")

#: The last steps of an image classifier.
NETWORK: list[dict[str, Any]] = [
    {"do": "normalise", "divide": 255, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
    {"do": "quantise", "dtype": "int8", "scale": 0.0187, "zero_point": -14},
]
#: The sound steps of a keyword classifier.
KEYWORDS: list[dict[str, Any]] = [
    {"do": "peak", "signed": True},
    {"do": "frame", "length": 480, "step": 320},
    {"do": "window"},
    {"do": "fft", "length": 512},
    {"do": "mel", "bins": 40, "low": 20, "high": 4000},
    {"do": "log", "offset": 1e-6},
    {"do": "mfcc", "coefficients": 10},
]
#: The sound steps of a detector of unusual machine sounds.
MACHINES: list[dict[str, Any]] = [
    {"do": "frame", "length": 1024, "step": 512, "centre": "reflect"},
    {"do": "window"},
    {"do": "fft", "length": 1024, "power": 2, "padding": "both"},
    {"do": "mel", "bins": 128, "convention": "librosa"},
    {"do": "log", "base": "10", "factor": 10, "offset": 2.2e-16},
]


def pictures(count: int = 2, height: int = 60, width: int = 80) -> list[np.ndarray]:
    """Return random RGB pictures."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (height, width, 3), np.uint8) for _ in range(count)]


def sound() -> np.ndarray:
    """Return one second of a decaying tone with noise, 16,000 samples per second."""
    t = np.arange(16000) / 16000
    noise = np.random.default_rng(1).normal(0, 30, len(t))
    return (8000 * np.sin(2 * np.pi * 440 * t) * np.exp(-3 * t) + noise).astype(np.int16)


def image_spec(*steps: dict[str, Any]) -> Preprocessing:
    """Return the preprocessing of images with ``steps``."""
    return Preprocessing.from_json({"source": {"kind": "image"}, "steps": list(steps)})


def audio_spec(steps: list[dict[str, Any]]) -> Preprocessing:
    """Return the preprocessing of one second of sound with ``steps``."""
    return Preprocessing.from_json(
        {"source": {"kind": "audio", "rate": 16000, "samples": 16000}, "steps": steps}
    )


#: The pairs (convention, method) that are compared with torch or TensorFlow, and the pairs that need neither.
NEEDS_FRAMEWORK = {("torch", m) for m in PAIRS["torch"]} | {("tf", "area")}
LOCAL_METHODS = [(c, m) for c, methods in PAIRS.items() for m in methods if (c, m) not in NEEDS_FRAMEWORK]


@pytest.mark.parametrize(("convention", "method"), LOCAL_METHODS)
@pytest.mark.parametrize("size", [(33, 21), (40, 30), (77, 59), (100, 90)])
def test_every_resize_agrees_with_its_library(convention: str, method: str, size: tuple[int, int]) -> None:
    """Arenite agrees with Pillow and OpenCV to the byte, except for ties of OpenCV's area method, and with
    TensorFlow up to the precision of float32."""
    if (convention, method) == ("opencv", "area") and size > (80, 60):
        pytest.skip("OpenCV enlarges by a different rule, so Arenite rejects the step")
    step = {"do": "letterbox", "width": size[0], "height": size[1], "fill": [9, 99, 199]}
    report = check_skew(image_spec(step | {"convention": convention, "method": method}, *NETWORK), pictures())
    assert report.agrees, report.sentence()
    resized = report.steps[0]
    assert resized.library and resized.values
    if method == "nearest" or (convention, method) in (
        ("pil", "bilinear"),
        ("pil", "area"),
        ("opencv", "bilinear"),
    ):
        assert resized.differing == 0
    elif method == "area":
        assert resized.differing < 0.01 * resized.values
    else:
        assert resized.max_abs < 1e-4
    assert [s.step for s in report.steps[1:]] == ["normalise", "quantise"]
    assert report.steps[2].library.startswith("LiteRT") and report.steps[2].differing == 0


@pytest.mark.parametrize("convention", ["pil", "opencv"])
def test_color_conversions_and_crops_are_exact(convention: str) -> None:
    grey = {"do": "colour", "to": "grey", "convention": convention}
    report = check_skew(image_spec({"do": "crop", "width": 31, "height": 30}, grey), pictures())
    assert report.agrees and [s.differing for s in report.steps] == [0, 0]


def test_the_report_names_a_wrong_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arenite's resize is replaced by a function with wrong results. The report names the step and the size of the
    difference."""
    original = reference.resample

    def wrong(*arguments: Any) -> np.ndarray:
        return np.maximum(original(*arguments), 7) - 5

    monkeypatch.setattr(reference, "resample", wrong)
    crop, resize = {"do": "crop", "fraction": 0.8}, {"do": "resize", "width": 9, "height": 9}
    report = check_skew(image_spec(crop, resize, *NETWORK), pictures())
    assert not report.agrees and report.first is not None
    assert report.first.step == "2 resize" and report.first.max_abs == 5
    assert "The step '2 resize' differs from Pillow" in report.sentence()
    assert json.loads(json.dumps(report.to_json()))["first"] == "2 resize"


def test_the_report_on_a_users_pipeline_suggests_a_change() -> None:
    from PIL import Image

    def pipeline(pixels: np.ndarray) -> np.ndarray:
        return np.asarray(Image.fromarray(pixels).resize((24, 24), Image.Resampling.BILINEAR)) / 127.5 - 1

    resize = {"do": "resize", "width": 24, "height": 24}
    normalize = {"do": "normalise", "divide": 127.5, "mean": 1.0}
    assert check_skew(image_spec(resize, normalize), pictures(), pipeline=pipeline).agrees
    differing = check_skew(
        image_spec(resize | {"convention": "opencv"}, normalize), pictures(), pipeline=pipeline
    )
    assert not differing.agrees
    assert "step 1 (resize) with method bilinear, convention pil" in differing.sentence()
    swapped = image_spec({"do": "colour", "to": "bgr"}, resize, normalize)
    assert "step 1 (colour) with to = rgb" in check_skew(swapped, pictures(), pipeline=pipeline).sentence()
    unscaled = check_skew(image_spec(resize), pictures(), pipeline=lambda p: pipeline(p))
    assert not unscaled.agrees


def test_a_pipeline_that_fails_is_an_error() -> None:
    spec = image_spec({"do": "resize", "width": 4, "height": 4})
    with pytest.raises(UsageError, match="The pipeline fails: ZeroDivisionError"):
        check_skew(spec, pictures(), pipeline=lambda _: 1 / 0)
    with pytest.raises(UsageError, match="the pipeline gives"):
        check_skew(spec, pictures(), pipeline=lambda _: np.zeros(3))
    with pytest.raises(UsageError, match="Cannot import 'nowhere:f'"):
        check_skew(spec, pictures(), pipeline="nowhere:f")
    with pytest.raises(UsageError, match="no samples to compare"):
        check_skew(spec, [])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [KEYWORDS, MACHINES])
def test_audio_agrees_with_scipy_and_other_installed_libraries(steps: list[dict[str, Any]]) -> None:
    quantize: dict[str, Any] = NETWORK[1]
    report = check_skew(audio_spec([*steps, quantize]), [sound(), sound()[:9000]])
    assert report.agrees, report.sentence()
    by_name = {s.step: s for s in report.steps}
    assert by_name["spectrum"].values and by_name["log"].values
    assert by_name["quantise"].differing == 0


def test_audio_agrees_with_librosa() -> None:
    pytest.importorskip("librosa", reason="needs librosa")
    report = check_skew(audio_spec(MACHINES), [sound()])
    assert report.agrees and all(s.library for s in report.steps), report.sentence()


@pytest.mark.slow
@pytest.mark.parametrize(("convention", "method"), sorted(NEEDS_FRAMEWORK))
def test_a_resize_agrees_with_its_framework_if_installed(convention: str, method: str) -> None:
    framework = "torch" if convention == "torch" else "tensorflow"
    step = {"do": "resize", "width": 33, "height": 21, "convention": convention, "method": method}
    with Frameworks() as frameworks:
        is_installed = frameworks.available(framework)
    report = check_skew(image_spec(step), pictures(1))
    assert report.agrees
    if is_installed:
        assert report.steps[0].library.startswith(framework)
        assert report.steps[0].max_abs < image_libraries.FRACTION
    else:
        assert framework in report.steps[0].why and "Not compared: 1 resize" in report.sentence()
