"""The LPM01A driver against a simulated LPM01A on a pseudo-terminal."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.lpm01a import Lpm01a
from arenite.host.energy.meters.lpm01a_samples import AsciiDecoder, BinaryDecoder
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_lpm01a import SimLpm01a


def _measure(sim, **options):
    """Return the recording of all samples of the simulated meter."""
    with Lpm01a(sim.port, supply_v=sim.waveform.volts, **options) as meter:
        meter.start()
        assert sim.sent_all.wait(60)
        return meter.stop()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [5000, 100_000])
def test_energy_is_within_one_percent_of_the_truth(seed, rate):
    truth = waveform.make(seed, volts=1.8)
    with SimLpm01a(truth, seed) as sim:
        trace = _measure(sim, rate_hz=rate)
        assert sim.settings["volt"] == "1800m"
        assert sim.settings["format"] == ("bin_hexa" if rate > 10_000 else "ascii_dec")
        assert not sim.controlled
    # The recording ends with its last sample.
    assert trace.energy_j() == pytest.approx(truth.joules(0, float(trace.time_s[-1])), rel=0.01)
    # Losses after the last time mark (2 % of up to 0.11 s) are unknown.
    assert trace.lost_samples == pytest.approx(sim.dropped, abs=0.002 * rate + 0.02 * 0.11 * rate)
    assert trace.lost_samples > 0
    assert np.all(np.diff(trace.time_s) > 0)


def test_the_board_is_powered_before_the_recording():
    truth = waveform.make(0, inferences=1)
    with SimLpm01a(truth, trigger="d7") as sim:
        with Lpm01a(sim.port, supply_v=truth.volts) as meter:
            assert sim.power == ["on"]
            meter.start()
            assert sim.sent_all.wait(60)
            assert len(meter.stop()) > 500
        assert sim.power == ["on", "off"]


def test_closing_during_a_recording_switches_off_and_releases():
    with SimLpm01a(waveform.make(0, inferences=1)) as sim:
        with Lpm01a(sim.port) as meter:
            meter.start()
        assert sim.power == ["on", "off"]
        assert not sim.controlled


def test_the_highest_accepted_rate_is_used():
    truth = waveform.make(0, inferences=1)
    with SimLpm01a(truth, rates=("5k", "2k")) as sim:
        trace = _measure(sim)
        assert trace.rate_hz == 5000
        # Losses after the last time mark are unknown, which matters in a short recording.
        assert trace.energy_j() == pytest.approx(truth.joules(0, float(trace.time_s[-1])), rel=0.03)
        with pytest.raises(DeviceError, match="refused 'freq 10k'"):
            Lpm01a(sim.port, rate_hz=10_000).open()


def test_samples_without_a_line_end_are_counted():
    trace = AsciiDecoder(1000, 3.0)
    trace.feed(b"6409-076410-07\r\n1000-05\r\n12-07\r\n")
    assert trace.finish().current_a == pytest.approx([6409e-7, 6410e-7, 1000e-5])


def test_chunk_sizes_make_no_difference():
    for decoder_of, settings in ((AsciiDecoder, "ascii_dec"), (BinaryDecoder, "bin_hexa")):
        with SimLpm01a(waveform.make(4), 4) as sim:
            sim.settings |= {"format": settings, "freq": "10k"}
            raw = b"".join(sim.chunks())
        results = []
        for size in (1, 7, len(raw)):
            decoder = decoder_of(10_000, 3.0)
            parts = [decoder.feed(raw[offset : offset + size]) for offset in range(0, len(raw), size)] + [
                decoder.finish()
            ]
            results.append(np.concatenate([part.current_a for part in parts]))
        assert len(results[0]) > 1000
        assert all(np.array_equal(results[0], result) for result in results[1:])


@pytest.mark.parametrize("binary", [False, True])
def test_errors_of_the_meter_become_notes(binary):
    with SimLpm01a(waveform.make(0, inferences=1), error="overrun") as sim:
        trace = _measure(sim, binary=binary)
    assert any("overrun" in note for note in trace.notes)


def test_invalid_settings_raise_an_error():
    with (
        SimLpm01a(waveform.make(0, inferences=1), refuse="freq") as sim,
        pytest.raises(DeviceError, match="refused 'freq 10k'"),
    ):
        Lpm01a(sim.port).open()
    with pytest.raises(UsageError, match="nearest rate is 5000"):
        Lpm01a("x", rate_hz=4321)
    with pytest.raises(UsageError, match="5 V"):
        Lpm01a("x", supply_v=5)
