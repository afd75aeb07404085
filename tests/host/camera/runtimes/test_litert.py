"""Tests of the runtime that calls LiteRT's C library: outputs, memory, slots (sets of input and output tensors), sizes
and errors."""

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
    custom_operator,
    feed,
    fixed_net,
    heavy_net,
    interpreter_outputs,
    outputs,
    picture_net,
    reversed_signature_net,
    saved,
)


def opened(path: Path, slots: int = 1, threads: int = 1, **options: str) -> CompiledModel:
    """Open a model file with LiteRT's C library, on the CPU."""
    return CompiledModel(path, "litert-cpu", threads, slots, options)


@pytest.mark.parametrize("make", [conv_net, picture_net, reversed_signature_net])
def test_same_bytes_as_the_interpreter(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = saved(make(), tmp_path)
    runtime = opened(path)
    for seed in range(3):
        inputs = feed(runtime.slots[0], seed)
        runtime.invoke()
        for actual, expected in zip(
            outputs(runtime.slots[0]), interpreter_outputs(path, inputs), strict=True
        ):
            np.testing.assert_array_equal(actual, expected)
    runtime.close()


@pytest.mark.parametrize("name", ["vww01_int8", "kws01_int8", "ic01_float32"])
def test_same_bytes_on_real_models(name: str) -> None:
    path = shared_model(name)
    runtime = opened(path, threads=2)
    inputs = feed(runtime.slots[0], 1)
    runtime.invoke()
    np.testing.assert_array_equal(outputs(runtime.slots[0])[0], interpreter_outputs(path, inputs, 2)[0])


def test_tensors_have_name_shape_type_and_quantization(tmp_path: Path) -> None:
    runtime = opened(saved(conv_net(), tmp_path))
    ((input_tensor,), (output_tensor,)) = (runtime.slots[0].inputs, runtime.slots[0].outputs)
    assert (input_tensor.name, input_tensor.shape, input_tensor.dtype, input_tensor.bytes) == (
        "t0",
        (1, 8, 8, 3),
        "int8",
        192,
    )
    assert input_tensor.scale == pytest.approx(0.02)
    assert (output_tensor.shape, output_tensor.scale, output_tensor.zero_point) == ((1, 5), 1 / 256, -128)
    assert input_tensor.address % litert_library.ALIGNMENT == 0


def test_tensor_memory_is_used_in_place(tmp_path: Path) -> None:
    """The runtime reads its input directly from the tensor's address, and the address never changes."""
    path = saved(picture_net(), tmp_path)
    runtime = opened(path)
    (input_tensor,), (output_tensor,) = runtime.slots[0].inputs, runtime.slots[0].outputs
    different_outputs = set()
    for value in range(100):
        ctypes.memset(input_tensor.address, value, input_tensor.bytes)
        runtime.invoke()
        different_outputs.add(output_tensor.array().tobytes())
        assert runtime.slots[0].inputs[0].address == input_tensor.address
        if value % 25 == 0:
            np.testing.assert_array_equal(
                output_tensor.array(), interpreter_outputs(path, [input_tensor.array().copy()])[0]
            )
    assert len(different_outputs) > 50, "most of the 100 inputs have an output of their own"


def test_slots_do_not_share_memory(tmp_path: Path) -> None:
    path = saved(reversed_signature_net(), tmp_path)
    runtime = opened(path, slots=3)
    memory_ranges = sorted((m.address, m.bytes) for slot in runtime.slots for m in slot.inputs + slot.outputs)
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(memory_ranges))
    inputs = [feed(slot, seed) for seed, slot in enumerate(runtime.slots)]
    for slot_index in (0, 2, 1, 1, 0):
        runtime.invoke(slot_index)
    for slot, values in zip(runtime.slots, inputs, strict=True):
        for actual, expected in zip(outputs(slot), interpreter_outputs(path, values), strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_tensors_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    runtime = opened(saved(reversed_signature_net(), tmp_path))
    slot = runtime.slots[0]
    assert [m.shape for m in slot.inputs] == [(1, 4), (1, 6)]
    assert [m.shape for m in slot.outputs] == [(1, 4), (1, 6)]
    slot.inputs[0].array()[...] = -2
    slot.inputs[1].array()[...] = 3
    runtime.invoke()
    assert (slot.outputs[0].array() == 2).all()
    assert (slot.outputs[1].array() == -3).all()


def test_the_option_input_sets_the_size_of_the_picture(tmp_path: Path) -> None:
    path = saved(picture_net(), tmp_path)
    for text, shape in (("1x8x12x3", (1, 8, 12, 3)), ("1x32X24x3", (1, 32, 24, 3))):
        runtime = opened(path, input=text)
        assert runtime.slots[0].inputs[0].shape == shape
        assert runtime.slots[0].outputs[0].shape == (*shape[:3], 8)
        inputs = feed(runtime.slots[0], 5)
        runtime.invoke()
        np.testing.assert_array_equal(outputs(runtime.slots[0])[0], interpreter_outputs(path, inputs)[0])
        runtime.close()


@pytest.mark.parametrize("text", ["1x8x8x3", "1x5", "1x4x4x3x1x1x1x1x1", "2x", "0x4x4x3", "big"])
def test_an_impossible_input_size_raises_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        opened(saved(fixed_net(), tmp_path), input=text)
    assert text in str(error.value)


def test_state_stays_between_calls(tmp_path: Path) -> None:
    runtime = opened(saved(with_state(), tmp_path))
    runtime.slots[0].inputs[0].array()[...] = 50
    outputs_seen = []
    for _ in range(3):
        runtime.invoke()
        outputs_seen.append(outputs(runtime.slots[0])[0].tobytes())
    assert len(set(outputs_seen)) == 3


def test_the_file_is_mapped_and_resident_bytes_are_counted(tmp_path: Path) -> None:
    small = saved(picture_net(), tmp_path, "small.tflite")
    large = saved(heavy_net(4096), tmp_path, "large.tflite")
    runtime = opened(large)
    assert mapped_bytes(large) >= large.stat().st_size
    runtime.invoke()
    # XNNPACK copies the weights (4096 x 768 float32, 12.6 MB) into its own memory.
    assert 12_000_000 < runtime.resident_bytes < 30_000_000
    runtime.close()
    assert mapped_bytes(large) == 0
    small_runtime = opened(small)
    small_runtime.invoke()
    assert small_runtime.resident_bytes < 3_000_000


@pytest.mark.slow
@pytest.mark.skipif(_mallinfo2() is None, reason="the allocator is not glibc's, or older than 2.33")
def test_resident_bytes_do_not_depend_on_earlier_allocations(tmp_path: Path) -> None:
    path = saved(heavy_net(512), tmp_path)

    def size() -> int:
        """Return the resident bytes of a newly opened model."""
        runtime = opened(path)
        runtime.invoke()
        runtime.close()
        return runtime.resident_bytes

    size()  # allocates the library's own tables
    first_size = size()
    assert path.stat().st_size < first_size < 1.2 * path.stat().st_size
    random = Random(1)
    blocks = [ctypes.create_string_buffer(random.choice((600, 1500, 3000))) for _ in range(60_000)]
    remaining_blocks = blocks[::10]
    del blocks
    assert abs(size() - first_size) < 50_000, "with freed memory in the heap"
    give_back()
    assert abs(size() - first_size) < 50_000, "with small blocks in released pages"
    del remaining_blocks


def test_packed_weights_can_be_kept_in_a_file(tmp_path: Path) -> None:
    path, cache = saved(heavy_net(2048), tmp_path), tmp_path / "packed"
    writer = opened(path, weight_cache=str(cache))
    inputs = feed(writer.slots[0], 1)
    writer.invoke()
    writer.close()
    assert cache.stat().st_size > 6_000_000  # 2048 x 768 float32 weights
    reader = opened(path, weight_cache=str(cache))
    for memory, value in zip(reader.slots[0].inputs, inputs, strict=True):
        memory.array()[...] = value
    reader.invoke()
    assert mapped_bytes(cache) > 6_000_000
    np.testing.assert_array_equal(outputs(reader.slots[0])[0], interpreter_outputs(path, inputs)[0])


def test_an_unknown_operator_raises_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = saved(custom_operator(), tmp_path)
    with pytest.raises(ModelError) as error:
        opened(path)
    assert str(path) in error.value.problem
    assert "Frobnicate" in error.value.problem
    assert capfd.readouterr().err == ""


def test_loading_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened(saved(conv_net(), tmp_path)).invoke()
    assert capfd.readouterr() == ("", "")


def test_messages_of_other_threads_are_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
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


def test_loading_in_several_threads_restores_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    def load() -> None:
        litert_library.with_captured_log(lambda: time.sleep(0.005))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"still there\n")
    assert capfd.readouterr().err == "still there\n"


def test_models_run_in_a_process_without_standard_error(tmp_path: Path) -> None:
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


def test_invoke_after_close_raises_an_error(tmp_path: Path) -> None:
    runtime = opened(saved(conv_net(), tmp_path))
    runtime.close()
    runtime.close()
    with pytest.raises(UsageError, match="closed"):
        runtime.invoke()


def test_other_threads_run_during_an_invocation(tmp_path: Path) -> None:
    """An invocation releases Python's interpreter lock. The switch interval is so long that another thread can only run
    while the lock is released."""
    runtime = opened(saved(heavy_net(8192), tmp_path))
    runtime.invoke()
    stop = threading.Event()
    counts: list[int] = []

    def count() -> None:
        while not stop.is_set():
            counts.append(1)
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    thread = threading.Thread(target=count)
    try:
        thread.start()
        invocations_with_progress = 0
        for _ in range(100):
            count_before = len(counts)
            runtime.invoke()
            invocations_with_progress += len(counts) > count_before
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert invocations_with_progress > 0


def test_memory_that_is_not_addressable_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers of a GPU or NPU have to be locked, copied and unlocked. This test makes the runtime do this with CPU
    buffers."""
    monkeypatch.setattr(litert_buffers.lite, "HOST_MEMORY", -1)  # type: ignore[attr-defined]
    path = saved(reversed_signature_net(), tmp_path)
    runtime = opened(path, slots=2)
    assert any("copied once" in note for note in runtime.notes)
    inputs = [feed(slot, seed) for seed, slot in enumerate(runtime.slots)]
    for slot_index in (1, 0, 1):
        runtime.invoke(slot_index)
    for slot, values in zip(runtime.slots, inputs, strict=True):
        for actual, expected in zip(outputs(slot), interpreter_outputs(path, values), strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_an_unknown_signature_raises_an_error(tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    assert opened(path, signature="serving_default").slots
    with pytest.raises(UsageError, match="no signature 'other'"):
        opened(path, signature="other")


def test_a_library_without_the_functions_raises_an_error() -> None:
    import ctypes.util

    math_library = ctypes.util.find_library("m")
    assert math_library is not None
    with pytest.raises(OSError, match="LiteRtCreateModelFromFd"):
        litert_library.Library(Path(math_library))
