"""Tests of the calibration: what two points give, what is predicted from it, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.host.llm.calibration import (
    Calibration,
    calibrate,
    calibration_runs,
    load_calibration,
    store_calibration,
)
from arenite.host.llm.gguf_model import read_gguf_model
from arenite.host.llm.kv_cache import kv_bytes_per_token
from arenite.host.llm.language_model import LanguageModel
from tests.host.llm.gguf_files import small_llama


@pytest.fixture
def model(tmp_path: Path) -> LanguageModel:
    return read_gguf_model(small_llama().write(tmp_path / "small.gguf"))


@pytest.mark.parametrize("cache_type", ["f16", "q8_0"])
def test_the_rates_are_those_of_the_two_points(model: LanguageModel, cache_type: str) -> None:
    """A computer that reads weights at 8 GB/s and the cache at 2 GB/s is found, and its other times follow."""
    per_token = kv_bytes_per_token(model.architecture, cache_type)

    def seconds(depth: float) -> float:
        return model.active_bytes / 8e9 + depth * per_token / 2e9

    found = calibrate(model, cache_type, 3, ((100, seconds(100)), (1500, seconds(1500))))
    assert (found.model, found.quantization, found.threads) == ("small.gguf", model.quantization, 3)
    assert found.weights_gb_s == pytest.approx(8) and found.cache_gb_s == pytest.approx(2)
    for depth in (0, 10, 700, 2000):
        assert found.token_s(model, depth) == pytest.approx(seconds(depth))


def test_disturbed_times_are_refused(model: LanguageModel) -> None:
    with pytest.raises(ToolError, match="no memory explains") as refused:
        calibrate(model, "f16", 1, ((100, 0.02), (1500, 0.01)))
    assert "100" in refused.value.problem and "End other programs" in refused.value.hint
    with pytest.raises(ToolError, match="no memory explains"):  # the line passes below 0
        calibrate(model, "f16", 1, ((100, 0.001), (1500, 0.02)))


def test_the_runs_fit_the_context(model: LanguageModel) -> None:
    (short, _), (long, tokens) = calibration_runs(model)
    assert 0 < short < long and long + tokens == model.architecture.context


def test_calibrations_are_kept_by_what_they_hold_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    assert load_calibration("Q4_1", "f16", 2) is None
    first, second = (
        Calibration("a", "Q4_1", "f16", 2, 7.0, 2.0),
        Calibration("a", "Q4_1", "q8_0", 2, 7.0, 1.0),
    )
    path = store_calibration(first)
    assert store_calibration(second) == path
    assert load_calibration("Q4_1", "f16", 2) == first and load_calibration("Q4_1", "q8_0", 2) == second
    assert load_calibration("Q4_1", "f16", 1) is None and load_calibration("Q8_0", "f16", 2) is None
    newer = Calibration("b", "Q4_1", "f16", 2, 8.0, 3.0)
    store_calibration(newer)
    assert load_calibration("Q4_1", "f16", 2) == newer
    for damaged in ("", "[]", "{}", '{"format": 1, "calibrations": [{"model": 1}]}'):
        path.write_text(damaged)
        assert load_calibration("Q4_1", "f16", 2) is None
    store_calibration(first)  # replaces the damaged file
    assert load_calibration("Q4_1", "f16", 2) == first
