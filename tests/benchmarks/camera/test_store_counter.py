"""Tests of the store counter, which counts the bytes that a program writes to memory. One test checks that the camera
loop writes each byte of the input tensor once, at the place where the model reads it."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.converters.graph.model import Model
from arenite.converters.processing.native import library as native
from arenite.errors import ToolError
from benchmarks.camera import store_counter
from benchmarks.camera.store_counter import count_stores, median_counts
from tests.benchmarks.camera.known_stores import COPIED, PART, READ
from tests.converters.small_models import Net
from tests.host.camera.runtimes.small_models import saved

QEMU_MISSING = shutil.which(f"qemu-{platform.machine()}") is None

#: The sizes of the classifier's input and output tensors in bytes.
INPUT, OUTPUT = 96 * 96 * 3 * 4, 40


def classifier() -> Model:
    """Return a small model with the input float32 [1, 96, 96, 3], a usual size, and the output float32 [1, 10]."""
    net = Net(3)
    x = net.input((1, 96, 96, 3), "float32")
    mean = net.op("MEAN", [x, net.ints([1, 2])], (1, 3), "float32", options="ReducerOptions")
    w = net.tensor((10, 3), "float32", data=net.rng.standard_normal((10, 3)))
    b = net.tensor((10,), "float32", data=np.zeros(10))
    return net.model(
        [net.op("FULLY_CONNECTED", [mean, w, b], (1, 10), "float32", options="FullyConnectedOptions")]
    )


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(QEMU_MISSING, reason="qemu-user is not installed")
def test_known_writes_are_counted_to_the_byte() -> None:
    frames = count_stores("tests.benchmarks.camera.known_stores:known", frames=2, warm=1)
    assert len(frames) == 2
    for frame in frames:
        assert frame.regions == {"region": PART, "never": 0}
        copied = frame.runs[0]  # the longest run of written addresses
        assert copied.bytes == COPIED
        assert copied.by.startswith("libc")
        assert frame.received == READ
        # Beside the copy, the program writes only a small buffer for the bytes that it reads from the file.
        assert COPIED <= frame.buffers < COPIED + READ + 4096
        assert frame.objects < 20_000
        assert frame.stored > COPIED + PART + 8


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(QEMU_MISSING, reason="qemu-user is not installed")
@pytest.mark.skipif(native.library() is None, reason="the compiled preprocessing is not built")
def test_the_loop_writes_the_tensors_and_nothing_else(tmp_path: Path) -> None:
    path = saved(classifier(), tmp_path)
    frames = count_stores("benchmarks.camera.store_subjects:loop", str(path), frames=5)
    assert all(frame.regions["input 0.0"] == INPUT for frame in frames)  # every byte is written at least once
    frame = median_counts(frames)
    assert frame.total <= INPUT + OUTPUT + 4096, frame.runs[:5]
    # ``objects`` counts the bytes in short runs of addresses. These may only be Python's own objects, not a tensor
    # that is copied in small parts.
    assert frame.objects < 20_000


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(QEMU_MISSING, reason="qemu-user is not installed")
@pytest.mark.skipif(native.library() is None, reason="the compiled preprocessing is not built")
def test_a_copy_of_the_tensor_is_counted(tmp_path: Path) -> None:
    path = saved(classifier(), tmp_path)
    for frame in count_stores("benchmarks.camera.store_subjects:copying_loop", str(path), frames=1):
        assert frame.total >= 2 * INPUT
        assert frame.runs[0].bytes >= INPUT


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(QEMU_MISSING, reason="qemu-user is not installed")
def test_an_error_in_the_emulated_process_is_reported() -> None:
    with pytest.raises(ToolError, match="RuntimeError: no such camera"):
        count_stores("tests.benchmarks.camera.known_stores:fails")


def test_without_qemu_an_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_counter.shutil, "which", lambda _: None)
    with pytest.raises(ToolError, match="is not installed") as error:
        count_stores("tests.benchmarks.camera.known_stores:known")
    assert "qemu-user" in error.value.hint


@given(st.lists(st.tuples(st.integers(0, 5 * 4096), st.integers(1, 3000)), max_size=6))
def test_runs_can_cross_page_borders(intervals: list[tuple[int, int]]) -> None:
    memory = np.zeros(7 * 4096, np.uint8)
    for start, size in intervals:
        memory[start : start + size] = 1
    pages = {k: (0, page.copy()) for k, page in enumerate(memory.reshape(7, 4096)) if page.any()}
    text = "".join(map(str, memory.tolist()))
    expected = [(match.start(), len(match[0])) for match in re.finditer("1+", text)]
    assert store_counter._runs(pages) == expected
