"""Tests of ``open_runtime``, which opens runtimes by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.errors import ModelError, UsageError
from arenite.host.camera.runtimes import litert_library, stock_interpreter
from arenite.host.camera.runtimes.catalogue import NAMES, available_runtimes
from arenite.host.camera.runtimes.factory import open_runtime
from tests.converters.small_models import conv_net
from tests.host.camera.runtimes.small_models import (
    feed,
    interpreter_outputs,
    onnx_model,
    outputs,
    picture_net,
    saved,
)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty cache, in which no choice of a runtime is stored."""
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("auto", "litert-cpu"), ("litert-cpu", "litert-cpu"), ("litert-interpreter", "litert-interpreter")],
)
def test_a_runtime_is_opened_by_its_name(name: str, expected: str, tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    runtime = open_runtime(path, name, slots=2)
    assert runtime.name == expected
    assert len(runtime.slots) == 2
    inputs = feed(runtime.slots[1], 4)
    runtime.invoke(1)
    np.testing.assert_array_equal(outputs(runtime.slots[1])[0], interpreter_outputs(path, inputs)[0])
    runtime.close()


def test_onnx_is_recognized(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_model(np.ones((3, 2), np.float32)))
    assert open_runtime(path).name == "onnx-cpu"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("litert_cpu", "There is no runtime 'litert_cpu'. Did you mean litert-cpu"),
        ("xyz", "There is no runtime 'xyz'. Use one of litert-cpu"),
        ("onnx-cpu", "Runtime onnx-cpu needs an ONNX model"),
        ("onnx-cuda", "Runtime onnx-cuda needs an ONNX model"),
    ],
)
def test_unsuitable_names_raise_an_error(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        open_runtime(saved(conv_net(), tmp_path), name)
    assert str(error.value).startswith(words)


def test_unsuitable_files_raise_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no model file"):
        open_runtime(tmp_path / "none.tflite")
    text = tmp_path / "notes.txt"
    text.write_text("no model at all")
    with pytest.raises(UsageError, match="neither a TFLite nor an ONNX model"):
        open_runtime(text)
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(saved(conv_net(), tmp_path).read_bytes()[:700])
    for name in ("auto", "litert-interpreter"):
        with pytest.raises(ModelError, match=r"cut\.tflite"):
            open_runtime(cut, name)
    onnx = tmp_path / "m.onnx"
    onnx.write_bytes(b"")
    with pytest.raises(UsageError, match="needs a TFLite model"):
        open_runtime(onnx, "litert-cpu")


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"slots": 0}])
def test_zero_threads_or_slots_raise_an_error(wrong: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot have"):
        open_runtime(saved(conv_net(), tmp_path), **wrong)  # type: ignore[arg-type]


def test_a_library_without_a_needed_function_is_replaced_by_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LiteRT wheels before 2.1.6 have a C library that lacks functions, so the runtime uses the interpreter instead."""
    required = (*litert_library._REQUIRED_FUNCTIONS, "LiteRtOfTheFuture")
    monkeypatch.setattr(litert_library, "_REQUIRED_FUNCTIONS", required)
    litert_library.library.cache_clear()
    try:
        path = saved(picture_net(), tmp_path)
        runtime = open_runtime(path, "litert-cpu", slots=2)
        assert runtime.name == "litert-interpreter"
        assert any("LiteRtOfTheFuture" in note for note in runtime.notes)
        inputs = feed(runtime.slots[0], 1)
        runtime.invoke()
        np.testing.assert_array_equal(outputs(runtime.slots[0])[0], interpreter_outputs(path, inputs)[0])
        with pytest.raises(UsageError, match="litert-gpu needs LiteRT's C library"):
            open_runtime(path, "litert-gpu")
        assert not any(row.available for row in available_runtimes() if row.name == "litert-cpu")
    finally:
        litert_library.library.cache_clear()


def test_without_litert_the_tflite_interpreter_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32-bit boards have only the package tflite-runtime."""
    path = saved(picture_net(), tmp_path)
    monkeypatch.setattr(litert_library.importlib.util, "find_spec", lambda _: None)  # type: ignore[attr-defined]
    litert_library.library.cache_clear()
    litert_library.package_folder.cache_clear()
    try:
        runtime = open_runtime(path)  # the package of the interpreter is installed
        assert runtime.name == "litert-interpreter"
        assert "ai-edge-litert is not installed" in runtime.notes[0]
        monkeypatch.setattr(stock_interpreter, "_PACKAGES", ("no_such_package",))
        with pytest.raises(UsageError, match="No TFLite interpreter is installed"):
            open_runtime(path)
        assert not any(row.available for row in available_runtimes() if row.name.startswith("litert"))
    finally:
        litert_library.library.cache_clear()
        litert_library.package_folder.cache_clear()


def test_all_runtimes_are_listed() -> None:
    rows = {row.name: row for row in available_runtimes()}
    assert tuple(rows) == NAMES
    assert rows["litert-cpu"].available
    assert rows["litert-interpreter"].available
    assert all(row.reason for row in rows.values())


def test_the_gpu_runs_or_raises_an_error(tmp_path: Path) -> None:
    """On a computer without a GPU, LiteRT's own error is raised."""
    path = saved(picture_net(), tmp_path)
    try:
        runtime = open_runtime(path, "litert-gpu")
    except (ModelError, UsageError) as error:
        assert "litert-gpu" in error.problem
        return
    inputs = feed(runtime.slots[0], 1)
    runtime.invoke()
    expected = interpreter_outputs(path, inputs)[0]
    np.testing.assert_allclose(outputs(runtime.slots[0])[0], expected, atol=0.05 * np.ptp(expected))
