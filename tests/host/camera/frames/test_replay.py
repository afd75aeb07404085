"""The C code as other builds of it: for 64-bit Arm, whose vector code is NEON; and under the compiler's sanitizers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.image.plan import ImagePlan, plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.native import library as native
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, order_of, unpack
from tests.host.camera.frames.preprocessor_cases import memory_for, random_case
from tests.host.camera.frames.replay import replayed


def cases(count: int, seed: int) -> list[tuple[ImagePlan, np.ndarray, bytes]]:
    """Plans that random frames lead to, pixels, and what NumPy makes of them."""
    from arenite.host.camera.frames.preprocessor_plan import steps_for_frame

    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        case = random_case(rng)
        f = case.format
        spec = steps_for_frame(case.spec, f, memory_for(case, 0), case.window)
        data = rng.integers(0, 256, buffer_bytes(f.pixels, f.width, f.height), np.uint8)
        want = preprocess_image(spec, unpack(data, f.pixels, f.width, f.height), order_of(f.pixels))
        made.append((plan_image(spec, f.pixels, f.width, f.height), data, want.tobytes()))
    return made


def compare(folder: Path, compiler: list[str], runner: list[str], seed: int) -> None:
    library = native.library()
    if library is None:
        pytest.skip(native.unavailable_reason())
    if not library.ar_host_vector():
        pytest.skip("cases for vector code are prepared on a machine that has some")
    found = cases(300, seed)
    results = replayed(folder, compiler, runner, [(plan, data) for plan, data, _ in found])
    for (plan, _, want), got in zip(found, results, strict=True):
        assert got == want, plan


def test_neon(tmp_path: Path) -> None:
    for command in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        if shutil.which(command) is None:
            pytest.skip(f"no {command}")
    compare(tmp_path, ["aarch64-linux-gnu-gcc"], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], 2)


@pytest.mark.slow
def test_sanitizers(tmp_path: Path) -> None:
    """Nothing outside a block, no undefined arithmetic."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    checks = ["gcc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    compare(tmp_path, checks, [], 3)
