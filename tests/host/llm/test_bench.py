"""Tests of the figures of a bench, and of the power that is read meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from arenite.errors import DeviceError, ToolError
from arenite.host.energy.base import ESTIMATED, MEASURED, Power
from arenite.host.llm.bench import LanguageModelBench
from arenite.host.llm.calibration import Calibration
from arenite.host.llm.gguf_model import read_gguf_model
from arenite.host.llm.kv_cache import kv_bytes
from arenite.host.llm.measure_process import measured_run, per_token
from arenite.host.llm.measurement import DecodeRun, Measurement, measure
from arenite.host.llm.power_readings import MeanPower, PowerReadings
from arenite.profiles.hosts import load_host
from tests.docs.schemas import problems
from tests.host.llm.gguf_files import small_llama

#: 100 times of 1 to 100 ms, out of order. Each token took 10 ms of two processors.
TIMES = tuple(number / 1000 for number in (*range(51, 101), *range(1, 51)))
POWER = MeanPower(10.0, MEASURED, "a sensor")


def bench(tmp_path: Path, power: MeanPower | None, calibration: Calibration | None) -> LanguageModelBench:
    model = read_gguf_model(small_llama().write(tmp_path / "small.gguf"))
    kv = kv_bytes(model.architecture, 1024, "f16") / 2**20
    run = DecodeRun(256, 0.5, TIMES, (0.02,) * len(TIMES), power)
    return LanguageModelBench(
        model,
        load_host("raspberry_pi_5"),
        1024,
        "f16",
        Measurement((run,), 100_000_000, (round(kv, 2),), 2),
        calibration,
    )


def test_rates_percentiles_and_energy(tmp_path: Path) -> None:
    result = bench(tmp_path, POWER, None)
    assert [result.percentile_s(percent) for percent in (1, 50, 90, 99)] == [0.001, 0.05, 0.09, 0.099]
    assert result.tokens_s == pytest.approx(100 / 5.05)
    assert result.undisturbed_tokens_s == pytest.approx(100)  # 20 ms of two threads
    assert result.joules_per_token == pytest.approx(10 * 5.05 / 100)
    assert result.calibrated_tokens_s is None
    report = result.to_json()
    assert problems(report) == []
    assert report["kv"]["exact"] and report["tokens"] == 101 and report["calibrated_tokens_s"] is None
    assert report["joules_per_token"]["kind"] == "measured"


def test_the_calibration_predicts_at_the_middle_of_the_run(tmp_path: Path) -> None:
    calibration = Calibration("other.gguf", "Q8_0", "f16", 2, 1.0, 0.1)
    result = bench(tmp_path, None, calibration)
    assert result.run.depth == 256 + 50.5
    assert result.calibrated_tokens_s == pytest.approx(1 / calibration.token_s(result.model, 306.5))
    report = result.to_json()
    assert problems(report) == []
    assert report["joules_per_token"] is None
    difference = report["calibrated_tokens_s"]["difference"]
    assert difference == pytest.approx((result.calibrated_tokens_s or 0) / 100 - 1)


def test_a_gpu_is_timed_on_the_clock() -> None:
    run = DecodeRun(8, 0.5, (0.01, 0.03, 0.02), (0.001,) * 3, None)
    assert run.undisturbed_s(1, "gpu") == 0.02 and run.undisturbed_s(1, "cpu") == 0.001


def test_another_cache_than_predicted_is_told() -> None:
    measured = Measurement((), 0, (11.25,), 1)
    assert measured.kv_matches(11_796_480)
    assert not measured.kv_matches(11_796_480 + 12_000)
    assert Measurement((), 0, (5.62, 5.62), 1).kv_matches(11_796_480)  # two caches, each rounded


class Meter:
    """A meter that returns ``readings`` one by one, and the last one again and again. None is a lost sensor."""

    name = "test"

    def __init__(self, *readings: Power | None) -> None:
        self.readings, self.busy = list(readings), list[float]()

    def read(self, busy: float) -> Power:
        self.busy.append(busy)
        power = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        if power is None:
            raise DeviceError("The sensor is gone.")
        return power


def test_the_first_reading_only_starts_the_mean() -> None:
    meter = Meter(Power(99.0, MEASURED, "a"), Power(4.0, MEASURED, "a"))
    readings = PowerReadings(meter, 2.0)
    assert readings.stop() is None  # was not started
    readings.start()
    assert readings.stop() == MeanPower(4.0, MEASURED, "a")
    assert set(meter.busy) == {2.0}


def test_one_estimate_makes_the_mean_an_estimate() -> None:
    meter = Meter(Power(1.0, MEASURED, "a"), Power(4.0, ESTIMATED, "b"))
    readings = PowerReadings(meter, 1.0)
    readings.start()
    mean = readings.stop()
    assert mean is not None and mean.kind == ESTIMATED and mean.source == "b"


def test_a_lost_sensor_gives_no_power() -> None:
    readings = PowerReadings(Meter(None), 1.0)
    readings.start()
    assert readings.stop() is None


def test_a_model_that_llama_cpp_refuses_is_named(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="runs llama.cpp")
    model = read_gguf_model(small_llama().write(tmp_path / "broken.gguf"))
    steps = list[str]()
    with pytest.raises(ToolError, match=r"cannot load broken\.gguf"):
        measure(model, 256, "f16", 1, [(8, 2)], Meter(Power(1.0, ESTIMATED, "a")), steps.append)
    assert steps == ["Loading the model and reading 8 tokens."]


def brief(length: int) -> Callable[[Sequence[int], int], Iterator[int]]:
    """Return the ``decode`` of a runtime whose answers have ``length`` tokens at most."""

    def decode(prompt: Sequence[int], tokens: int) -> Iterator[int]:
        yield from range(1, min(length, tokens) + 1)

    return decode


@pytest.mark.parametrize(("length", "words"), [(0, "0 tokens"), (1, "1 token,")])
def test_an_answer_that_ends_early_is_told(length: int, words: str) -> None:
    with pytest.raises(ToolError, match=f"ended its answer after {words}"):
        measured_run(brief(length), [5, 6], 8)
    assert len(measured_run(brief(4), [5, 6], 8)["token_s"]) == 3


def test_tokens_that_are_told_together_share_their_time() -> None:
    """After the first token come one, then three that make one character, then one."""
    assert per_token([1.0, 3.0, 9.0, 10.0], [1, 2, 5, 6]) == [2.0, 2.0, 2.0, 2.0, 1.0]
