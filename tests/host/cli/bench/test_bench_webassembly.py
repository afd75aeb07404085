"""``--board wasm`` of bench and fit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.host.bench.module_runner import load_wasmtime
from tests.host.cli.conftest import Arenite
from tests.host.small_graphs import classifier, counter, save

needs_tools = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("wasmtime", "ziglang")),
    reason="needs wasmtime and ziglang",
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(classifier(), tmp_path / "small.tflite")


@pytest.mark.slow
@needs_tools
def test_bench_measures_exact_modules_with_the_memory_that_fit_predicted(
    arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    predicted = arenite("fit", model, "--board", "wasm", "--json").json["models"][0]["modules"]
    run = arenite("bench", model, "--board", "wasm", "--samples", 3, "--json", "--keep", tmp_path / "kept")
    assert run.code == 0
    result = run.json
    cores = [m["core"] for m in result["modules"]]
    assert cores == ["wasm32-relaxed", "wasm32-simd", "wasm32"] == [m["core"] for m in predicted]
    for module, fit in zip(result["modules"], predicted, strict=True):
        assert module["bit_exact"] == result["samples"] == 3
        assert module["max_abs_diff"] == 0
        assert module["memory"]["total"] == fit["memory_bytes"] == fit["pages"] * 65536
        assert module["memory"]["arena"] == fit["arena"]
        assert 0 < module["memory"]["stack_used"] < fit["stack"]
        assert (tmp_path / "kept" / f"{module['core']}.wasm").stat().st_size == module["module_bytes"]
    relaxed, simd, plain = (m["instructions"]["p50"] for m in result["modules"])
    assert 0 < relaxed < simd < plain


@pytest.mark.slow
@needs_tools
def test_bench_keeps_the_state_of_a_model(arenite: Arenite, tmp_path: Path) -> None:
    model = save(counter(), tmp_path / "sums.tflite")
    run = arenite("bench", model, "--board", "wasm", "--samples", 4, "--stateful")
    assert run.code == 0 and "4 of 4" in run.out


def test_options_for_boards_are_refused(arenite: Arenite, model: Path) -> None:
    arenite("bench", model, "--board", "wasm", "--copies", 2).refused(2, "--copies is for boards")
    arenite("bench", model, "--board", "wasm", "--mark").refused(2, "--mark is for boards")
    arenite("fit", model, "--board", "wasm", "--shrink").refused(2, "--shrink is for boards")
    arenite("fit", model, "--board", "wasm", "--board", "esp32dev").refused(2, "cannot be combined")


def test_fit_shows_the_memory_of_all_cores(arenite: Arenite, model: Path) -> None:
    run = arenite("fit", model, "--board", "wasm")
    assert run.code == 0
    assert "wasm32-simd" in run.out and "65,536" in run.out


def test_a_missing_wasmtime_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)  # makes an import fail
    with pytest.raises(ToolError) as caught:
        load_wasmtime()
    assert caught.value.hint is not None and "arenite[wasm]" in caught.value.hint
