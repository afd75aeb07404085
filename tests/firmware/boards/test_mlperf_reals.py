"""The MLPerf monitor in the firmware quantizes and scores real numbers with integer arithmetic only. The results equal
those of C code with floats."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.firmware.sources import BOARDS, ENGINE
from tests.example_count import example_count

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


class Reals(ctypes.Structure):
    """Mirrors the C structure ``ar_reals``: how the monitor converts and scores real numbers."""

    _fields_ = (
        ("count", ctypes.c_uint32),
        ("scale", ctypes.c_float),
        ("zero_point", ctypes.c_int32),
        ("quantize", ctypes.c_void_p),
        ("score", ctypes.c_void_p),
    )


class Monitor(ctypes.Structure):
    """Mirrors the C structure ``ar_monitor``."""

    _fields_ = (
        ("input", ctypes.c_void_p),
        ("input_bytes", ctypes.c_uint32),
        ("reals", ctypes.POINTER(Reals)),
        ("scale_thousandths_q16", ctypes.c_int64),
        ("zero_point", ctypes.c_int32),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return mlperf_reals.c, compiled for this computer."""
    out = tmp_path_factory.mktemp("reals") / "reals.so"
    include = [*BOARDS.include_flags, *ENGINE.include_flags]
    source = BOARDS.path("mlperf_reals.c")
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-fno-sanitize-recover", *include, "-o", out, source], check=True)
    loaded = ctypes.CDLL(str(out))
    loaded.ar_score.restype = ctypes.c_uint64
    return loaded


def quantized(library: Any, values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """Return ``values`` (float32), quantized to int8 by the C code."""
    outputs = np.zeros(values.size, np.int8)
    reals = Reals(values.size, scale, zero_point)
    library.ar_quantize_reals(outputs.ctypes.data_as(ctypes.c_void_p), values.tobytes(), ctypes.byref(reals))
    return outputs


def quantize_like_c(values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """Return each value divided by ``scale`` in float32, rounded (halves away from zero), plus the zero point, clipped
    to int8."""
    ratio = (values / np.float32(scale)).astype(np.float32).astype(np.float64)
    rounded = np.sign(ratio) * np.floor(np.abs(ratio) + 0.5)
    return np.clip(np.clip(rounded, -(1 << 20), 1 << 20) + zero_point, -128, 127).astype(np.int8)


@settings(deadline=None, max_examples=example_count(300))
@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50),
    st.floats(min_value=2.0**-20, max_value=1024.0, width=32),
    st.integers(-128, 127),
)
def test_any_number_is_quantized_as_with_floats(
    library: Any, values: list[float], scale: float, zero_point: int
) -> None:
    with np.errstate(over="ignore"):
        numbers = np.array(values, np.float32)
        assert (
            quantized(library, numbers, scale, zero_point) == quantize_like_c(numbers, scale, zero_point)
        ).all()


@pytest.mark.parametrize("scale", [0.5, 0.1, 0.3910, 2.0**-7, 0.0039215689])
def test_quotients_near_a_half_are_quantized_as_with_floats(library: Any, scale: float) -> None:
    """If the quotient is next to a half, its rounding to a float determines the result."""
    halves = (np.arange(-140, 140) + 0.5).astype(np.float32) * np.float32(scale)
    neighbors = [halves]
    for towards in (-np.inf, np.inf):
        nearby = halves
        for _ in range(3):
            nearby = np.nextafter(nearby, np.float32(towards))
            neighbors.append(nearby)
    numbers = np.concatenate(neighbors).astype(np.float32)
    for zero_point in (-128, 0, 89):
        assert (
            quantized(library, numbers, scale, zero_point) == quantize_like_c(numbers, scale, zero_point)
        ).all()


@settings(deadline=None, max_examples=example_count(200))
@given(st.integers(0, 2**32 - 1), st.floats(0.001, 2.0), st.floats(0.1, 200.0))
def test_the_score_is_a_thousand_times_the_mean_squared_error(
    library: Any, seed: int, scale: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    scale = float(np.float32(scale))
    zero_point = int(rng.integers(-128, 128))
    inputs = rng.normal(0, spread, 640).astype(np.float32)
    outputs = rng.integers(-128, 128, 640).astype(np.int8)
    reals = Reals(640, scale, 0)
    # 640 is the number of inputs of the anomaly detection model. The monitor clips them to -1024 to 1024.
    monitor = Monitor(None, 2560, ctypes.pointer(reals), int(scale * 65536000 + 0.5), zero_point)
    actual = library.ar_score(inputs.tobytes(), outputs.tobytes(), ctypes.byref(monitor))
    real_outputs = (outputs.astype(np.float64) - zero_point) * scale
    expected = float(np.mean((real_outputs - np.clip(inputs.astype(np.float64), -1024, 1024)) ** 2))
    assert actual == pytest.approx(expected * 1000, rel=2e-5, abs=0.51)
