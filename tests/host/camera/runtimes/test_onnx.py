"""Tests of ONNX Runtime with tensors in memory that belongs to the camera loop."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import ModelError, UsageError
from arenite.host.camera.runtimes.onnx import PROVIDERS, OnnxSession
from tests.host.camera.runtimes.small_models import feed, onnx_model, outputs

pytest.importorskip("onnxruntime", reason="the extra onnxruntime is not installed")

WEIGHTS = np.random.default_rng(1).standard_normal((12, 5)).astype(np.float32)


def saved(folder: Path, batch: int | str = 1) -> Path:
    """Write an ONNX model that computes relu(x · WEIGHTS), and return its path. A ``batch`` that is a text is free."""
    path = folder / "model.onnx"
    path.write_bytes(onnx_model(WEIGHTS, batch))
    return path


def opened(path: Path, slots: int = 1, name: str = "onnx-cpu", **options: str) -> OnnxSession:
    """Open a model file with ONNX Runtime."""
    return OnnxSession(path, name, 1, slots, options)


@pytest.mark.parametrize("batch", [1, "free"])
def test_each_slot_has_its_own_outputs(batch: int | str, tmp_path: Path) -> None:
    runtime = opened(saved(tmp_path, batch), 2)
    inputs = [feed(slot, seed)[0] for seed, slot in enumerate(runtime.slots)]
    assert runtime.slots[0].inputs[0].shape == (1, 12)
    for slot_index in (1, 0):
        runtime.invoke(slot_index)
    for slot, value in zip(runtime.slots, inputs, strict=True):
        np.testing.assert_allclose(outputs(slot)[0], np.maximum(value @ WEIGHTS, 0), rtol=1e-5, atol=1e-6)


def test_memory_is_read_and_written_in_place(tmp_path: Path) -> None:
    runtime = opened(saved(tmp_path))
    (input_tensor,), (output_tensor,) = runtime.slots[0].inputs, runtime.slots[0].outputs
    assert input_tensor.address % 64 == 0
    view = output_tensor.array()
    for value in range(100):
        input_tensor.array()[...] = value / 10
        runtime.invoke()
        expected = np.maximum(np.full((1, 12), value / 10, np.float32) @ WEIGHTS, 0)
        np.testing.assert_allclose(view, expected, rtol=1e-5, atol=1e-5)
    ctypes.memset(output_tensor.address, 0xFF, output_tensor.bytes)
    runtime.invoke()
    assert np.isfinite(view).all()


def test_the_option_input_sets_the_input_size(tmp_path: Path) -> None:
    runtime = opened(saved(tmp_path, "free"), input="3x12")
    assert runtime.slots[0].outputs[0].shape == (3, 5)
    inputs = feed(runtime.slots[0], 1)[0]
    runtime.invoke()
    np.testing.assert_allclose(
        outputs(runtime.slots[0])[0], np.maximum(inputs @ WEIGHTS, 0), rtol=1e-5, atol=1e-6
    )
    with pytest.raises(ModelError, match="ONNX Runtime reported"):
        opened(saved(tmp_path, "free"), input="3x13")


def test_a_damaged_file_raises_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ModelError, match=r"model\.onnx: ONNX Runtime reported"):
        opened(path)


def test_a_missing_provider_raises_an_error(tmp_path: Path) -> None:
    import onnxruntime

    missing = [n for n, p in PROVIDERS.items() if p[0] not in onnxruntime.get_available_providers()]
    assert missing
    for name in missing:
        with pytest.raises(
            UsageError, match=f"no {PROVIDERS[name][0]}; it has .*CPUExecutionProvider"
        ) as error:
            opened(saved(tmp_path), name=name)
        assert error.value.hint.startswith("Install")


def test_the_error_without_onnx_runtime_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UsageError, match="not installed") as error:
        opened(saved(tmp_path))
    assert "arenite[onnxruntime]" in error.value.hint


def test_invoke_after_close_raises_an_error(tmp_path: Path) -> None:
    runtime = opened(saved(tmp_path))
    runtime.close()
    with pytest.raises(UsageError, match="closed"):
        runtime.invoke()
