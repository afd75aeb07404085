"""LiteRT by its C library: answers, memory, slots, sizes, errors."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
import time
from pathlib import Path
from random import Random

import numpy as np
import pytest

from arenite.errors import ModelError, UsageError
from arenite.host.camera.runtimes import litert_buffers, litert_library
from arenite.host.camera.runtimes.litert import CompiledModel
from arenite.host.camera.runtimes.process_memory import _mallinfo2, mapped_bytes
from arenite.host.camera.several.model_pool import _give_back as give_back
from tests.converters.small_models import conv_net, with_state
from tests.development_models import shared_model
from tests.host.camera.runtimes.small_models import (
    by_the_interpreter,
    custom_operator,
    feed,
    fixed_net,
    heavy_net,
    outputs,
    picture_net,
    saved,
    turned_signature,
)


def opened(path: Path, slots: int = 1, threads: int = 1, **options: str) -> CompiledModel:
    return CompiledModel(path, "litert-cpu", threads, slots, options)


@pytest.mark.parametrize("make", [conv_net, picture_net, turned_signature])
def test_same_bytes_as_the_interpreter(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = saved(make(), tmp_path)
    runtime = opened(path)
    for seed in range(3):
        given = feed(runtime.slots[0], seed)
        runtime.invoke()
        for found, expected in zip(outputs(runtime.slots[0]), by_the_interpreter(path, given), strict=True):
            np.testing.assert_array_equal(found, expected)
    runtime.close()


@pytest.mark.parametrize("name", ["vww01_int8", "kws01_int8", "ic01_float32"])
def test_same_bytes_on_real_models(name: str) -> None:
    path = shared_model(name)
    runtime = opened(path, threads=2)
    given = feed(runtime.slots[0], 1)
    runtime.invoke()
    np.testing.assert_array_equal(outputs(runtime.slots[0])[0], by_the_interpreter(path, given, 2)[0])


def test_what_is_known_of_a_tensor(tmp_path: Path) -> None:
    runtime = opened(saved(conv_net(), tmp_path))
    ((given,), (made,)) = (runtime.slots[0].inputs, runtime.slots[0].outputs)
    assert (given.name, given.shape, given.dtype, given.bytes) == ("t0", (1, 8, 8, 3), "int8", 192)
    assert given.scale == pytest.approx(0.02)
    assert (made.shape, made.scale, made.zero_point) == ((1, 5), 1 / 256, -128)
    assert given.address % litert_library.ALIGNMENT == 0


def test_memory_is_the_models_own(tmp_path: Path) -> None:
    """Bytes that change at the address change the answer with no call in between; the address never moves."""
    path = saved(picture_net(), tmp_path)
    runtime = opened(path)
    (given,), (made,) = runtime.slots[0].inputs, runtime.slots[0].outputs
    seen = set()
    for value in range(100):
        ctypes.memset(given.address, value, given.bytes)
        runtime.invoke()
        seen.add(made.array().tobytes())
        assert runtime.slots[0].inputs[0].address == given.address
        if value % 25 == 0:
            np.testing.assert_array_equal(made.array(), by_the_interpreter(path, [given.array().copy()])[0])
    assert len(seen) > 50


def test_slots_do_not_share_memory(tmp_path: Path) -> None:
    path = saved(turned_signature(), tmp_path)
    runtime = opened(path, slots=3)
    pieces = sorted((m.address, m.bytes) for slot in runtime.slots for m in slot.inputs + slot.outputs)
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(pieces))
    given = [feed(slot, seed) for seed, slot in enumerate(runtime.slots)]
    for turn in (0, 2, 1, 1, 0):
        runtime.invoke(turn)
    for slot, values in zip(runtime.slots, given, strict=True):
        for found, expected in zip(outputs(slot), by_the_interpreter(path, values), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_order_of_tensors_is_the_files_not_the_signatures(tmp_path: Path) -> None:
    runtime = opened(saved(turned_signature(), tmp_path))
    slot = runtime.slots[0]
    assert [m.shape for m in slot.inputs] == [(1, 4), (1, 6)]
    assert [m.shape for m in slot.outputs] == [(1, 4), (1, 6)]
    slot.inputs[0].array()[...] = -2
    slot.inputs[1].array()[...] = 3
    runtime.invoke()
    assert (slot.outputs[0].array() == 2).all()
    assert (slot.outputs[1].array() == -3).all()


def test_another_size_of_picture(tmp_path: Path) -> None:
    path = saved(picture_net(), tmp_path)
    for text, shape in (("1x8x12x3", (1, 8, 12, 3)), ("1x32X24x3", (1, 32, 24, 3))):
        runtime = opened(path, input=text)
        assert runtime.slots[0].inputs[0].shape == shape
        assert runtime.slots[0].outputs[0].shape == (*shape[:3], 8)
        given = feed(runtime.slots[0], 5)
        runtime.invoke()
        np.testing.assert_array_equal(outputs(runtime.slots[0])[0], by_the_interpreter(path, given)[0])
        runtime.close()


@pytest.mark.parametrize("text", ["1x8x8x3", "1x5", "1x4x4x3x1x1x1x1x1", "2x", "0x4x4x3", "big"])
def test_a_size_that_the_model_does_not_allow(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        opened(saved(fixed_net(), tmp_path), input=text)
    assert text in str(error.value)


def test_state_stays_between_calls(tmp_path: Path) -> None:
    runtime = opened(saved(with_state(), tmp_path))
    runtime.slots[0].inputs[0].array()[...] = 50
    seen = []
    for _ in range(3):
        runtime.invoke()
        seen.append(outputs(runtime.slots[0])[0].tobytes())
    assert len(set(seen)) == 3


def test_the_file_is_mapped_and_what_is_held_is_counted(tmp_path: Path) -> None:
    small = saved(picture_net(), tmp_path, "small.tflite")
    large = saved(heavy_net(4096), tmp_path, "large.tflite")
    runtime = opened(large)
    assert mapped_bytes(large) >= large.stat().st_size
    runtime.invoke()
    # XNNPACK packs the weights into memory of its own.
    assert 12_000_000 < runtime.resident_bytes < 30_000_000
    runtime.close()
    assert mapped_bytes(large) == 0
    other = opened(small)
    other.invoke()
    assert other.resident_bytes < 3_000_000


@pytest.mark.slow
@pytest.mark.skipif(_mallinfo2() is None, reason="the allocator is not glibc's, or older than 2.33")
def test_a_size_does_not_depend_on_what_was_in_memory_before(tmp_path: Path) -> None:
    path = saved(heavy_net(512), tmp_path)

    def size() -> int:
        runtime = opened(path)
        runtime.invoke()
        runtime.close()
        return runtime.resident_bytes

    size()  # the library's own tables
    fresh = size()
    assert path.stat().st_size < fresh < 1.2 * path.stat().st_size
    random = Random(1)
    blocks = [ctypes.create_string_buffer(random.choice((600, 1500, 3000))) for _ in range(60_000)]
    kept = blocks[::10]
    del blocks
    assert abs(size() - fresh) < 50_000, "freed memory that it was given"
    give_back()
    assert abs(size() - fresh) < 50_000, "small pieces in pages that were given back"
    del kept


def test_packed_weights_can_be_kept_in_a_file(tmp_path: Path) -> None:
    path, cache = saved(heavy_net(2048), tmp_path), tmp_path / "packed"
    first = opened(path, weight_cache=str(cache))
    given = feed(first.slots[0], 1)
    first.invoke()
    first.close()
    assert cache.stat().st_size > 6_000_000
    second = opened(path, weight_cache=str(cache))
    for memory, value in zip(second.slots[0].inputs, given, strict=True):
        memory.array()[...] = value
    second.invoke()
    assert mapped_bytes(cache) > 6_000_000
    np.testing.assert_array_equal(outputs(second.slots[0])[0], by_the_interpreter(path, given)[0])


def test_an_operator_that_nobody_knows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = saved(custom_operator(), tmp_path)
    with pytest.raises(ModelError) as error:
        opened(path)
    assert str(path) in error.value.problem
    assert "Frobnicate" in error.value.problem
    assert capfd.readouterr().err == ""


def test_loading_says_nothing_on_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened(saved(conv_net(), tmp_path)).invoke()
    assert capfd.readouterr() == ("", "")


def test_what_others_say_meanwhile_is_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> int:
        os.write(2, b"INFO: chatter\nfrom another thread\nWARNING: of LiteRT\n")
        return 5

    assert litert_library.with_captured_log(work) == (5, "WARNING: of LiteRT")
    assert capfd.readouterr().err == "from another thread\n"

    def fail() -> None:
        os.write(2, b"INFO: chatter\nERROR: no such tensor\n")
        raise litert_library.LiteRtError("LiteRtRunCompiledModel", 3)

    with pytest.raises(litert_library.LiteRtError) as error:
        litert_library.with_captured_log(fail)
    assert error.value.message == "runtime failure (LiteRtRunCompiledModel): no such tensor"
    assert capfd.readouterr().err == ""


def test_threads_that_load_at_once_leave_standard_error_alone(capfd: pytest.CaptureFixture[str]) -> None:
    def load() -> None:
        litert_library.with_captured_log(lambda: time.sleep(0.005))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"still there\n")
    assert capfd.readouterr().err == "still there\n"


def test_without_standard_error(tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(2)
            runtime = opened(path)
            runtime.invoke()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_closed_is_closed(tmp_path: Path) -> None:
    runtime = opened(saved(conv_net(), tmp_path))
    runtime.close()
    runtime.close()
    with pytest.raises(UsageError, match="closed"):
        runtime.invoke()


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    """An invocation does not hold the interpreter lock: Python never switches threads of itself here, so another one
    only gets on while the lock is let go."""
    runtime = opened(saved(heavy_net(8192), tmp_path))
    runtime.invoke()
    done = threading.Event()
    counts: list[int] = []

    def count() -> None:
        while not done.is_set():
            counts.append(1)
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    thread = threading.Thread(target=count)
    try:
        thread.start()
        grown = 0
        for _ in range(100):
            before = len(counts)
            runtime.invoke()
            grown += len(counts) > before
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert grown > 0


def test_memory_that_is_not_addressable_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of GPUs and NPUs, lock, copy, unlock, on buffers of the CPU."""
    monkeypatch.setattr(litert_buffers.lite, "HOST_MEMORY", -1)  # type: ignore[attr-defined]
    path = saved(turned_signature(), tmp_path)
    runtime = opened(path, slots=2)
    assert any("copied once" in note for note in runtime.notes)
    given = [feed(slot, seed) for seed, slot in enumerate(runtime.slots)]
    for turn in (1, 0, 1):
        runtime.invoke(turn)
    for slot, values in zip(runtime.slots, given, strict=True):
        for found, expected in zip(outputs(slot), by_the_interpreter(path, values), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_an_unknown_signature(tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    assert opened(path, signature="serving_default").slots
    with pytest.raises(UsageError, match="no signature 'other'"):
        opened(path, signature="other")


def test_a_library_without_the_functions_is_refused() -> None:
    import ctypes.util

    plain = ctypes.util.find_library("m")
    assert plain is not None
    with pytest.raises(OSError, match="LiteRtCreateModelFromFd"):
        litert_library.Library(Path(plain))
