"""The PPK2 driver against a simulated PPK2 on a pseudo-terminal."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.ppk2 import Ppk2
from arenite.host.energy.meters.ppk2_samples import Calibration, Ppk2Decoder
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_ppk2 import RATE, SimPpk2
from tests.host.energy.meters.sim_pty import PtyInstrument


def _measure(sim, **options):
    """Return the recording of all samples of the simulated meter."""
    with Ppk2(sim.port, supply_v=sim.waveform.volts, **options) as meter:
        meter.start()
        assert sim.sent_all.wait(60)
        return meter.stop()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_energy_is_within_one_percent_of_the_truth(seed):
    truth = waveform.make(seed)
    with SimPpk2(truth, seed, burst=3) as sim:
        trace = _measure(sim)
        assert sim.switched_off.wait(60)
        assert (sim.regulator_mv, sim.mode) == (3000, 2)
    assert trace.energy_j() == pytest.approx(truth.joules(0, truth.seconds), rel=0.01)
    assert trace.lost_samples == sim.dropped > 0.015 * len(trace)
    assert np.all(np.diff(trace.time_s) > 0)
    assert trace.time_s[-1] == pytest.approx(truth.seconds * (1 + 1e-4), abs=1e-4)
    assert trace.marks is not None and set(trace.marks) == {0x80, 0x81}


def test_samples_arrive_during_the_recording():
    truth = waveform.make(9, inferences=2)
    with SimPpk2(truth, lost=0) as sim, Ppk2(sim.port, supply_v=3.0, source=False) as meter:
        meter.start()
        chunks = []
        for chunk in meter.samples(timeout_s=60):
            chunks.append(chunk)
            # The driver holds back less than one period of the counter of samples, which has six bits.
            if sum(map(len, chunks)) > int(truth.seconds * RATE) - 64:
                break
        assert sum(map(len, chunks)) > int(truth.seconds * RATE) - 64  # and not the end of the wait
        recording = meter.stop()
        assert sim.mode == 1
    joined = np.concatenate([chunk.current_a for chunk in chunks])
    assert np.array_equal(recording.current_a[: len(joined)], joined)
    assert len(recording) - len(joined) < 64


def test_chunk_sizes_make_no_difference():
    truth = waveform.make(3)
    with SimPpk2(truth, 3) as sim:
        raw = sim.words().astype("<u4").tobytes()
        calibration = Calibration.parse(sim.metadata().decode())
    decoder = Ppk2Decoder(calibration, 3.0)
    samples = decoder.feed(raw)
    end = decoder.finish()
    expected = np.concatenate([samples.current_a, end.current_a])
    rng = np.random.default_rng(0)
    decoder, parts, offset = Ppk2Decoder(calibration, 3.0), [], 0
    while offset < len(raw):
        size = int(rng.integers(1, 3000))
        parts.append(decoder.feed(raw[offset : offset + size]))
        offset += size
    parts.append(decoder.finish())
    assert np.array_equal(np.concatenate([part.current_a for part in parts]), expected)
    assert sum(part.lost_samples for part in parts) == sim.dropped


@pytest.mark.slow
@pytest.mark.parametrize("extra", [1, 2, 3])
def test_a_stream_that_starts_within_a_sample_is_aligned(extra):
    truth = waveform.make(1, inferences=2)
    with SimPpk2(truth, 1, misaligned=extra) as sim:
        trace = _measure(sim)
    assert trace.energy_j() == pytest.approx(truth.joules(0, truth.seconds), rel=0.01)
    assert trace.lost_samples == sim.dropped


def test_a_damaged_counter_or_range_loses_one_sample():
    count = 1000
    words = 2000 | (np.arange(count) & 63) << 18
    # The counter is in bits 18 to 23 and the range in bits 14 to 16. There is no range 7.
    words[300] ^= 0x15 << 18
    words[600] |= 7 << 14
    decoder = Ppk2Decoder(Calibration(), 3.0)
    parts = [decoder.feed(words.astype("<u4").tobytes()), decoder.finish()]
    assert sum(len(part) for part in parts) == count - 2
    assert sum(part.lost_samples for part in parts) == 2
    assert parts[-1].time_s[-1] == pytest.approx((count - 1) / 1e5)


def test_an_uncalibrated_unit_uses_nominal_values_with_a_note():
    with SimPpk2(waveform.make(0, inferences=1), lost=0) as sim:
        metadata = sim.metadata().replace(f"R0: {sim.r[0]:.10g}".encode(), b"R0: nan")
        setattr(sim, "metadata", lambda: metadata)  # noqa: B010  (a method)
        trace = _measure(sim)
    assert any("R0" in note for note in trace.notes)
    assert Calibration.parse("R0: 0\nGI1: nan\nO2: 12").r[0] == 1031.64


class _Silent(PtyInstrument):
    """A serial device that answers nothing."""

    def received(self, data: bytes) -> None:
        pass


@pytest.mark.slow
def test_other_devices_raise_an_error():
    with _Silent() as silent_instrument, pytest.raises(DeviceError, match="No PPK2 answers"):
        Ppk2(silent_instrument.port).open()
    with pytest.raises(UsageError, match="7 V"):
        Ppk2("x", supply_v=7)
    with pytest.raises(DeviceError, match="no serial port"):
        Ppk2("/dev/nothing-here").open()
