"""The windows of inferences and the energy per inference are right in traces of known energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.activity import InferenceWindow
from arenite.host.energy.windows.alignment import align
from arenite.host.energy.windows.find import GPIO, SERIAL, WAVEFORM, InferenceWindows, find_windows
from arenite.host.energy.windows.result import measure
from tests.host.energy.meters import waveform


def sampled(truth, seed=0, rate=50_000.0, lost=0.02, ppm=100.0, noise=3e-6, marks=True):
    """Return the trace of a meter with noise, lost samples and a clock error of ``ppm``."""
    rng = np.random.default_rng(seed)
    count = int(truth.seconds * rate)
    times = np.arange(count) / (rate * (1 + ppm * 1e-6))
    current = truth.at(times) + rng.normal(0, noise, count)
    # The mark is at the input 2, and the input 6 is always high.
    bits = truth.mark(times).astype(np.uint8) << 2 | 0x40
    keep = rng.random(count) >= lost
    return Trace(
        (np.arange(count) / rate)[keep],
        current[keep],
        truth.volts,
        rate,
        marks=bits[keep] if marks else None,
        lost_samples=int(count - keep.sum()),
        gain_error=0.02,
    )


def events_of(truth, seed, offset=0.4, drift=150e-6, jitter=1e-3):
    """Return timestamps of the inferences by another clock, each delayed by a serial line."""
    rng = np.random.default_rng(seed)
    return [
        (
            (a - offset) * (1 - drift) + rng.uniform(0, jitter),
            (b - offset) * (1 - drift) + rng.uniform(0, jitter),
        )
        for a, b in truth.windows
    ]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    method=st.sampled_from([GPIO, SERIAL, WAVEFORM]),
    scale=st.sampled_from([0.3, 1, 3]),
)
def test_every_method_is_accurate_to_one_percent(seed, method, scale):
    truth = waveform.make(seed, inferences=5, scale=scale)
    trace = sampled(truth, seed, marks=method == GPIO)
    length = float(np.median([b - a for a, b in truth.windows]))
    options = {
        GPIO: {},
        SERIAL: {"events": events_of(truth, seed, jitter=1e-3 * min(scale, 1))},
        WAVEFORM: {"expected": 5, "duration_s": length * 1.0001},
    }[method]
    windows = find_windows(trace, **options)
    assert windows.method == method
    result = measure(trace, windows)
    assert len(result.energy_uj) == 5
    assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)
    assert result.sleep_current_a == pytest.approx(truth.sleep_a, rel=0.05, abs=3e-7)
    assert result.peak_power_w == pytest.approx(truth.current_a.max() * truth.volts, rel=0.01)


def test_the_inferences_of_a_board_that_never_sleeps_are_found():
    truth = waveform.make(5)
    trace = sampled(truth, marks=False)
    trace = replace(trace, current_a=np.maximum(trace.current_a, truth.idle_a))
    result = measure(trace, find_windows(trace))
    assert len(result.energy_uj) == 6
    assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)
    assert any("without a mark" in note for note in result.windows.notes)


@pytest.mark.parametrize("ppm", [-300.0, 0.0, 250.0])
def test_offset_and_drift_of_the_clocks_are_measured(ppm):
    truth = waveform.make(2, inferences=60)
    trace = sampled(truth, rate=20_000.0, ppm=0)
    events = [((a - 1.25) / (1 + ppm * 1e-6), (b - 1.25) / (1 + ppm * 1e-6)) for a, b in truth.windows]
    alignment = align(trace, events)
    assert alignment.offset_s == pytest.approx(1.25, abs=3e-4)
    assert alignment.drift * 1e6 == pytest.approx(ppm, abs=60)
    assert alignment.contrast > 3


def test_inferences_outside_the_recording_are_left_out():
    truth = waveform.make(8, inferences=9)
    trace = sampled(truth, marks=False)
    is_recorded = trace.time_s < 0.6 * truth.seconds
    shorter = replace(trace, time_s=trace.time_s[is_recorded], current_a=trace.current_a[is_recorded])
    windows = find_windows(shorter, events=events_of(truth, 8))
    assert len(windows.spans) == sum(b < 0.6 * truth.seconds for _, b in truth.windows)
    assert any("outside" in note for note in windows.notes)


def test_incomplete_marks_and_glitches_are_no_windows():
    times = np.arange(1000) / 1000
    marks = np.zeros(1000, dtype=np.uint8)
    for start, end in ((0, 50), (200, 300), (400, 402), (500, 600), (950, 1000)):
        marks[start:end] = 1
    windows = find_windows(Trace(times, np.ones(1000), 3.0, 1000.0, marks=marks))
    # An edge is in the middle between two samples.
    edges = [edge for window in windows.spans for edge in (window.start_s, window.end_s)]
    assert edges == pytest.approx([0.1995, 0.2995, 0.4995, 0.5995])


def test_the_json_has_the_energy_and_its_uncertainties():
    truth = waveform.make(4)
    result = measure(sampled(truth), find_windows(sampled(truth), bit=2))
    content = result.to_json()
    assert content["schema"] == "arenite.energy/1"
    assert content["energy_uj_per_inference"]["kind"] == "measured"
    assert (content["supply_v"], content["windows"]) == (3.0, 6)
    assert content["lost_samples"] > 0
    expected = np.std(result.energy_uj, ddof=1) / np.sqrt(6)
    assert content["uncertainty_uj"]["of_windows"] == pytest.approx(expected)
    # The gain error is at most 2 %, with a uniform distribution.
    assert content["uncertainty_uj"]["of_calibration"] == pytest.approx(
        np.mean(result.energy_uj) * 0.02 / 3**0.5
    )
    assert content["above_baseline_uj_per_inference"]["median"] < content["energy_uj_per_inference"]["median"]
    recording_w = truth.joules(0, truth.seconds) / truth.seconds
    assert content["recording_power_w"] == pytest.approx(recording_w, rel=0.01)


def test_a_window_in_a_gap_is_counted_as_left_out():
    times = np.concatenate([np.arange(0, 1, 1e-3), np.arange(2, 3, 1e-3)])
    trace = Trace(times, np.ones(2000), 3.0, 1000.0)
    result = measure(trace, InferenceWindows((InferenceWindow(0.2, 0.4), InferenceWindow(0.9, 2.1)), GPIO))
    assert (len(result.energy_uj), result.left_out) == (1, 1)
    assert result.standard_error_uj is None
    with pytest.raises(DeviceError, match="enough samples"):
        measure(trace, InferenceWindows((InferenceWindow(1.2, 1.4),), GPIO))


def test_missing_windows_raise_an_error():
    flat = Trace(np.arange(5000) / 1000, np.full(5000, 1e-3), 3.0, 1000.0)
    with pytest.raises(DeviceError, match="hardly changes"):
        find_windows(flat)
    with pytest.raises(DeviceError, match="do not match the current anywhere"):
        find_windows(flat, events=[(0.1, 0.2), (0.5, 0.6)])
    with pytest.raises(UsageError, match="no marks"):
        find_windows(flat, bit=0)
    truth = waveform.make(0)
    with pytest.raises(DeviceError, match="never shows 5 inferences"):
        find_windows(sampled(truth, marks=False), expected=5, duration_s=0.03)
    with pytest.raises(DeviceError, match="0 samples"):
        measure(Trace(np.empty(0), np.empty(0), 3.0, 1000.0), InferenceWindows((), GPIO))


def _regular(rate=20_000.0, seconds=6.0):
    """Return a trace with regular windows, the mask of the windows, and the energy per window in uJ."""
    times = np.arange(int(seconds * rate)) / rate
    busy = times % 0.1 < 0.04
    current = np.where(busy, 20e-3, 1e-3) * np.random.default_rng(0).normal(1, 0.005, len(times))
    return Trace(times, current, 3.0, rate), busy, 20e-3 * 3.0 * 0.04 * 1e6


@pytest.mark.parametrize("seed", range(5))
def test_timestamps_that_do_not_match_the_current_are_ignored(seed):
    trace, _, truth = _regular()
    rng = np.random.default_rng(seed)
    starts = 0.5 + np.cumsum(rng.uniform(0.05, 0.12, 40))
    windows = find_windows(trace, events=[(t, t + 0.03) for t in starts], offset_s=0.0)
    assert windows.method == WAVEFORM
    assert any("timestamps of the serial port were not used" in note for note in windows.notes)
    assert measure(trace, windows).median_uj == pytest.approx(truth, rel=0.01)


def test_the_input_that_matches_the_current_is_the_mark():
    trace, busy, truth = _regular()
    # Another input, which changes every 777 samples.
    noise = (np.arange(len(trace)) // 777 % 2).astype(np.uint8)
    for low in (False, True):
        mark = (~busy if low else busy).astype(np.uint8)
        marked = replace(trace, marks=mark << 3 | noise << 1 | 0x80)
        windows = find_windows(marked)
        assert windows.method == GPIO
        assert any("not 1" in note for note in windows.notes)
        assert any("low during an inference" in note for note in windows.notes) == low
        assert measure(marked, windows).median_uj == pytest.approx(truth, rel=0.01)


def test_a_constant_current_is_cut_at_the_timestamps():
    trace, _, _ = _regular()
    flat = replace(trace, current_a=np.full(len(trace), 5e-3))
    windows = find_windows(flat, events=[(k * 0.1 + 0.5, k * 0.1 + 0.53) for k in range(20)], offset_s=0.0)
    assert windows.method == SERIAL
    assert measure(flat, windows).median_uj == pytest.approx(5e-3 * 3 * 0.03 * 1e6, rel=0.01)
    assert any("hardly changes" in note for note in windows.notes)


@pytest.mark.parametrize("seed", range(12))
def test_idle_time_around_an_inference_is_excluded(seed):
    truth = waveform.make(1000 + seed, inferences=8)
    trace = sampled(truth, seed, marks=False)
    result = measure(trace, find_windows(trace))
    assert len(result.energy_uj) == 8
    assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)


def test_a_floating_input_is_no_mark():
    trace, _, truth = _regular()
    floating = np.random.default_rng(1).integers(0, 2, len(trace)).astype(np.uint8)
    windows = find_windows(replace(trace, marks=floating << 5))
    assert windows.method == WAVEFORM
    assert any("flickers" in note for note in windows.notes)
    assert measure(trace, windows).median_uj == pytest.approx(truth, rel=0.01)


@pytest.mark.slow
def test_thousands_of_short_inferences_are_found():
    # Each edge is analyzed locally. Analyzing the complete recording for each edge would take minutes.
    rng, rate = np.random.default_rng(3), 100_000.0
    count, inferences = int(20 * rate), 6000
    starts = 0.01 + np.arange(inferences) * 0.0033 + rng.uniform(0, 0.0015, inferences)
    time_s = np.arange(count) / rate
    edge_count = np.searchsorted(np.stack([starts, starts + 0.0005], axis=1).ravel(), time_s, side="right")
    current = np.where(edge_count % 2 == 1, 0.02, 3e-6) * rng.normal(1, 0.01, count)
    trace = Trace(time_s, current, 3.0, rate)
    result = measure(trace, find_windows(trace))
    assert len(result.energy_uj) == inferences
    assert result.median_uj == pytest.approx(0.02 * 3.0 * 0.0005 * 1e6, rel=0.01)


def _trace_with_wake_ups(seed: int, wake_ups: int) -> tuple[Trace, float, int]:
    """Return a trace, the energy per inference in uJ, and the number of inferences. In the trace, the board sleeps and
    wakes up ``wake_ups`` times. Each time it runs inferences, with idle current before, between and after them."""
    rng, rate = np.random.default_rng(seed), 50_000.0
    share, layers = rng.dirichlet(np.full(4, 3.0)), rng.uniform(8e-3, 50e-3, 4)
    idle, per_wake_up, steps = float(rng.uniform(1e-3, 4e-3)), int(rng.integers(4, 9)), [(0.4, 3e-6)]
    for _ in range(wake_ups):
        steps.append((float(rng.uniform(0.02, 0.1)), idle))
        for _ in range(per_wake_up):
            steps += [
                (float(0.03 * layer_share), float(amperes))
                for layer_share, amperes in zip(share, layers, strict=True)
            ]
            steps.append((float(rng.uniform(0.02, 0.08)), idle))
        steps.append((0.3, 3e-6))
    seconds, level = np.array(steps).T
    time_s = np.arange(int(seconds.sum() * rate)) / rate
    current = level[np.searchsorted(np.cumsum(seconds)[:-1], time_s, side="right")]
    current = current * rng.normal(1, 0.01, len(time_s))
    return Trace(time_s, current, 3.0, rate), float(share @ layers) * 0.03 * 3e6, wake_ups * per_wake_up


@pytest.mark.parametrize("wake_ups", [1, 2, 6])
@pytest.mark.parametrize("seed", range(4))
def test_idle_time_between_inferences_is_excluded(seed, wake_ups):
    trace, truth, inferences = _trace_with_wake_ups(seed, wake_ups)
    result = measure(trace, find_windows(trace))
    assert len(result.energy_uj) == inferences
    assert result.median_uj == pytest.approx(truth, rel=0.01)


def test_radio_activity_is_no_inference():
    time_s = np.arange(200_000) / 50_000.0
    phase = time_s % 0.05
    current = np.where(
        (phase > 0.01) & (phase < 0.03), 0.02, np.where((phase > 0.038) & (phase < 0.043), 6e-3, 3e-6)
    )
    result = measure(trace := Trace(time_s, current, 3.0, 50_000.0), find_windows(trace))
    assert result.median_uj == pytest.approx(0.02 * 3 * 0.02 * 1e6, rel=0.01)
