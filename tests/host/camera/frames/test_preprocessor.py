"""Tests of ``FramePreprocessor``: tensors have the bytes of the NumPy reference, no bytes beside them are written, and
errors are clear."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.processing.native import library as native
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.runtimes.base import TensorMemory
from tests.example_count import example_count
from tests.host.camera.frames.preprocessor_cases import check, random_case

ROOT = Path(__file__).resolve().parents[4]


@settings(max_examples=example_count(400), deadline=None)
@given(st.integers(0, 2**32))
def test_any_frame_gives_the_bytes_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(random_case(rng), rng)


def program(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``preprocessor_cases`` as a program, with additional environment variables."""
    return subprocess.run(
        [sys.executable, "-m", "tests.host.camera.frames.preprocessor_cases", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("code", "cases"), [("", 400), ("c", 150), ("numpy", 40)])
def test_nothing_beside_the_planes_is_touched(code: str, cases: int) -> None:
    process = program(str(cases), "1", ARENITE_PROCESSING=code)
    assert process.returncode == 0, process.stderr[-2000:]
    implementations = set(process.stdout.split())
    assert implementations == {code} if code else implementations & {"avx2", "neon", "c", "numpy"}


def picture_spec(steps: list[dict[str, Any]], **source: Any) -> Preprocessing:
    """Return the preprocessing of pictures by ``steps``. ``source`` has additional keys of the record's source."""
    return Preprocessing.from_json({"source": {"kind": "image", **source}, "steps": steps})


RESIZE = {"do": "resize", "width": 16, "height": 12, "convention": "opencv"}


def tensor(shape: tuple[int, ...] = (1, 12, 16, 3), dtype: str = "uint8", scale: float = 1.0) -> TensorMemory:
    """Return a tensor of zeros. Its memory is kept until the program ends."""
    buffer = np.zeros(shape, dtype)
    tensor.buffers.append(buffer)  # type: ignore[attr-defined]
    return TensorMemory("pixels", shape, dtype, buffer.ctypes.data, buffer.nbytes, scale, 0)


tensor.buffers = []  # type: ignore[attr-defined]

YUYV = Format("yuyv", 64, 48, (128,))


@pytest.mark.parametrize(
    ("steps", "format", "memory", "window", "message"),
    [
        ([], YUYV, tensor(), None, "into 48x64x3 values"),
        ([RESIZE], YUYV, tensor((1, 12, 16, 1)), None, "into 12x16x3 values"),
        ([RESIZE], YUYV, tensor((1, 1000)), None, "into 12x16x3 values|not that of a picture"),
        ([RESIZE], YUYV, tensor((1, 49, 10, 2)), None, "not that of a picture"),
        ([RESIZE], YUYV, tensor((2, 12, 16, 3)), None, "not that of a picture"),
        ([RESIZE], YUYV, tensor(dtype="int32"), None, "is int32"),
        ([RESIZE], YUYV, tensor(dtype="int8", scale=0.0), None, "neither scale nor zero point"),
        ([RESIZE], Format("mjpeg", 64, 48, (128,)), tensor(), None, "'mjpeg'"),
        ([RESIZE], Format("yuyv", 64, 48, (127,)), tensor(), None, "stride is 127"),
        ([RESIZE], Format("yuyv", 63, 48, (128,)), tensor(), None, "even sides"),
        ([RESIZE], Format("nv12", 64, 48, (64, 64, 64)), tensor(), None, "2 planes, but 3 strides"),
        ([RESIZE], YUYV, tensor(), CropWindow(60, 0, 8, 8), "is not inside frames"),
        ([{"do": "crop", "width": 80, "height": 20}], YUYV, tensor(), None, "Crop takes 80x20"),
    ],
)
def test_mismatches_raise_an_error(
    steps: list[dict[str, Any]], format: Format, memory: TensorMemory, window: CropWindow | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        FramePreprocessor(picture_spec(steps), format, memory, window)
    assert caught.value.hint


def test_audio_preprocessing_raises_an_error() -> None:
    record = {
        "source": {"kind": "audio", "rate": 16000, "samples": 16000},
        "steps": [
            {"do": "frame", "length": 480, "step": 320},
            {"do": "fft", "length": 512},
            {"do": "log", "offset": 1e-6},
        ],
    }
    with pytest.raises(UsageError, match="not pictures"):
        FramePreprocessor(Preprocessing.from_json(record), YUYV, tensor())


def frame_of(format: Format, seed: int = 0) -> tuple[Frame, np.ndarray]:
    """Return a frame with random pixels, and its bytes."""
    data = np.random.default_rng(seed).integers(0, 256, format.strides[0] * format.height, np.uint8)
    return Frame(format, (data.ctypes.data,), data, 0, 0), data


def test_frames_of_another_format_raise_an_error() -> None:
    preprocessor = FramePreprocessor(picture_spec([RESIZE]), YUYV, tensor())
    frame, _ = frame_of(Format("yuyv", 64, 40, (128,)))
    with pytest.raises(UsageError, match="another preprocessor"):
        preprocessor.run(frame)
    frame, _ = frame_of(Format("yuyv", 64, 48, (128,)))
    preprocessor.run(frame)


def test_a_missing_plane_raises_an_error() -> None:
    format = Format("yu12", 64, 48, (64,))
    preprocessor = FramePreprocessor(picture_spec([RESIZE]), format, tensor())
    data = np.zeros(64 * 72, np.uint8)
    with pytest.raises(UsageError, match="2 planes, but yu12 has 3"):
        preprocessor.run(Frame(format, (data.ctypes.data,) * 2, data, 0, 0))


def test_a_tensor_without_scale_uses_the_scale_of_the_steps() -> None:
    quantize_step = {"do": "quantise", "dtype": "uint8", "scale": 2.0, "zero_point": 3}
    memory = tensor(scale=0.0)
    frame, _ = frame_of(YUYV)
    FramePreprocessor(picture_spec([RESIZE, quantize_step]), YUYV, memory).run(frame)
    unquantized = tensor()
    FramePreprocessor(picture_spec([RESIZE]), YUYV, unquantized).run(frame)
    expected = np.floor(unquantized.array() / 2.0 + 0.5) + 3
    assert (memory.array() == expected).all()


def test_the_margins_of_a_letterbox_have_the_fill_value() -> None:
    step = {"do": "letterbox", "width": 16, "height": 16, "fill": [7], "convention": "opencv"}
    memory = tensor((1, 16, 16, 3))
    preprocessor = FramePreprocessor(picture_spec([step]), YUYV, memory)
    preprocessor.run(frame_of(YUYV)[0])
    pixels = memory.array()[0]
    assert (pixels[:2] == 7).all() and (pixels[-2:] == 7).all() and (pixels[2:-2] != 7).any()
    assert preprocessor.geometry.top == pytest.approx(
        -2 / 12
    ) and preprocessor.geometry.height == pytest.approx(16 / 12)


@pytest.mark.slow
def test_other_threads_run_during_preprocessing() -> None:
    """Another thread counts while a long call runs, so the call releases the interpreter lock."""
    if native.library() is None:
        pytest.skip(native.unavailable_reason())
    step = {"do": "resize", "width": 512, "height": 512, "convention": "pil"}
    format = Format("rgb", 1600, 1200, (4800,))
    preprocessor = FramePreprocessor(picture_spec([step]), format, tensor((1, 512, 512, 3)))
    frame, _ = frame_of(format)
    counted, stopped = [0], threading.Event()

    def count() -> None:
        while not stopped.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    limit = sys.getswitchinterval()
    sys.setswitchinterval(0.5)  # so Python takes the lock from a thread only after 0.5 s, longer than a call
    try:
        thread.start()
        calls_with_progress = 0
        for _ in range(100):  # calls are short: on busy processors the other thread may sleep through some
            count_before = counted[0]
            preprocessor.run(frame)
            calls_with_progress += counted[0] > count_before
            if calls_with_progress:
                break
    finally:
        stopped.set()
        sys.setswitchinterval(limit)
        thread.join()
    assert calls_with_progress
