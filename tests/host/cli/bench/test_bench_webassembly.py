"""``--board wasm`` of bench and fit."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

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
        assert module["bit_exact"] == result["samples"]["count"] == 3
        assert module["max_abs_diff"] == 0
        assert module["memory"]["total"] == fit["memory_bytes"] == fit["pages"] * 65536
        assert module["memory"]["arena"] == fit["arena"]
        assert 0 < module["memory"]["stack_used"] < fit["stack"]
        assert (tmp_path / "kept" / f"{module['core']}.wasm").stat().st_size == module["module_bytes"]
    relaxed, simd, plain = (m["instructions"]["p50"] for m in result["modules"])
    assert 0 < relaxed < simd < plain
    _check_first_module(result, model)


def _check_first_module(result: dict[str, Any], model: Path) -> None:
    """The keys of a bench on a board describe the first module."""
    first = result["modules"][0]
    assert result["schema"] == "arenite.bench/1"
    assert result["board"] == {"name": "wasm", "core": first["core"]}
    assert result["model"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert result["samples"] == {"count": 3, "bit_exact": 3, "max_abs_diff": 0, "accuracy": None}
    counts = result["inference"]["instructions"]
    assert (counts["unit"], counts["kind"]) == ("fuel", "measured")
    assert counts["min"] <= counts["p50"] <= counts["p95"] <= counts["p99"] <= counts["max"]
    assert counts["max"] == first["instructions"]["max"]
    assert result["inference"]["latency_us"] == first["time_us"]
    memory, flash = result["memory"], result["flash"]
    assert memory["arena"] == first["memory"]["arena"] >= memory["arena_lower_bound"] > 0
    assert (memory["stack"], memory["stack_kind"]) == (first["memory"]["stack_used"], "measured")
    assert memory["arena"] + memory["stack"] + memory["static"] == memory["ram_total"]
    assert memory["ram_total"] == memory["predicted_ram_total"] == first["memory"]["total"]
    assert flash["weights"] + flash["code"] == flash["total"] == first["module_bytes"]
    assert 0 < flash["weights"] < flash["total"]


@pytest.mark.slow
@needs_tools
def test_results_of_modules_are_compared(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    files = []
    for goal in ("speed", "ram"):
        run = arenite("bench", model, "--board", "wasm", "--optimise", goal, "--samples", 2, "--json")
        files.append(tmp_path / f"{goal}.json")
        files[-1].write_text(json.dumps(run.json))
    compared = arenite("bench", "compare", *files, "--json")
    assert compared.code in (0, 1), compared.err
    rows = {row["figure"]: row for row in compared.json["figures"]}
    old, new = (json.loads(file.read_text())["memory"]["arena"] for file in files)
    assert (rows["arena"]["old"], rows["arena"]["new"]) == (old, new)


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
