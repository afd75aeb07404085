"""Tests that the C code of the preprocessing computes NumPy's results when it is built for 64-bit Arm (with NEON) and
when it is built with the compiler's sanitizers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.image.plan import ImagePlan, plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.native import library as native
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, color_order, unpack
from tests.host.camera.frames.preprocessor_cases import memory_for, random_case
from tests.host.camera.frames.replay import replayed


def cases(count: int, seed: int) -> list[tuple[ImagePlan, np.ndarray, bytes]]:
    """Return ``count`` random cases: (plan, pixels of the frame, bytes of the tensor that NumPy computes)."""
    from arenite.host.camera.frames.preprocessor_plan import steps_for_frame

    rng = np.random.default_rng(seed)
    random_cases = []
    for _ in range(count):
        case = random_case(rng)
        f = case.format
        spec = steps_for_frame(case.spec, f, memory_for(case, 0), case.window)
        data = rng.integers(0, 256, buffer_bytes(f.pixels, f.width, f.height), np.uint8)
        expected = preprocess_image(spec, unpack(data, f.pixels, f.width, f.height), color_order(f.pixels))
        random_cases.append((plan_image(spec, f.pixels, f.width, f.height), data, expected.tobytes()))
    return random_cases


def compare(folder: Path, compiler: list[str], runner: list[str], seed: int, count: int = 300) -> None:
    """Check that C code from the command ``compiler``, run by the command ``runner``, computes NumPy's results."""
    library = native.library()
    if library is None:
        pytest.skip(native.unavailable_reason())
    if not library.ar_host_vector():
        pytest.skip("this computer has no vector code, so it cannot prepare cases for vector code")
    random_cases = cases(count, seed)
    results = replayed(folder, compiler, runner, [(plan, data) for plan, data, _ in random_cases])
    for (plan, _, expected), actual in zip(random_cases, results, strict=True):
        assert actual == expected, plan


@pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_neon_code_computes_the_results_of_numpy(tmp_path: Path, count: int) -> None:
    for command in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        if shutil.which(command) is None:
            pytest.skip(f"no {command}")
    compare(tmp_path, ["aarch64-linux-gnu-gcc"], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], 2, count)


@pytest.mark.slow
def test_sanitizers_find_no_error(tmp_path: Path) -> None:
    """The sanitizers find no access outside of an allocated block and no undefined arithmetic."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    checks = ["gcc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    compare(tmp_path, checks, [], 3)
