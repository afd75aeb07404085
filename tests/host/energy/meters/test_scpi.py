"""The SCPI drivers with a simulated multimeter on a TCP socket."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.connection import open_connection
from arenite.host.energy.meters.scpi import ScpiMeter
from arenite.host.energy.meters.scpi_polled import Scpi, ScpiPolled
from arenite.host.energy.windows.find import find_windows
from arenite.host.energy.windows.result import measure
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_scpi import SimDmm
from tests.host.energy.meters.sim_tcp import TcpInstrument


@pytest.mark.parametrize("seed", range(4))
def test_energy_is_within_one_percent_of_the_truth(seed):
    truth = waveform.make(seed)
    length = float(np.median([b - a for a, b in truth.windows]))
    with SimDmm(truth, seed) as sim, ScpiMeter(sim.where, supply_v=truth.volts, rate_hz=20_000) as meter:
        meter.start()
        assert sim.emptied.wait(20)
        trace = meter.stop()
    assert trace.energy_j() == pytest.approx(truth.joules(0, truth.seconds), rel=0.01)
    assert trace.lost_samples == sim.invalid > 0
    result = measure(trace, find_windows(trace, expected=6, duration_s=length))
    assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)


def test_readings_arrive_during_the_recording():
    truth = waveform.make(1, inferences=1)
    with SimDmm(truth) as sim, ScpiMeter(sim.where, supply_v=3.0) as meter:
        meter.start()
        chunks = list(meter.samples(timeout_s=0.3))
        recording = meter.stop()
    assert len(chunks) > 0
    assert sum(map(len, chunks)) == len(recording)


def test_a_multimeter_without_a_timer_is_polled():
    truth = waveform.make(2, inferences=2)
    with SimDmm(truth, timer=False) as sim:
        with pytest.raises(DeviceError, match="refused sampling by its own timer: -113"):
            ScpiMeter(sim.where).open()
        with ScpiPolled(sim.where, supply_v=3.0, rate_hz=500) as meter:
            meter.start()
            count = 0
            for chunk in meter.samples():
                count += len(chunk)
                if count >= 20:
                    break
            trace = meter.stop()
    # The driver used the first reading to detect the supported command.
    expected = truth.at(0.001 * np.arange(2, len(trace) + 2))
    assert trace.current_a == pytest.approx(expected, rel=1e-6)
    assert trace.clock == "host"
    assert np.all(np.diff(trace.time_s) > 0)


@pytest.mark.parametrize("timer", [True, False])
def test_the_timer_is_used_if_there_is_one(timer):
    truth = waveform.make(2, inferences=2)
    with SimDmm(truth, timer=timer) as sim, Scpi(sim.where, supply_v=3.0) as meter:
        meter.start()
        assert sum(len(chunk) for chunk in meter.samples(timeout_s=0.3)) > 0 if timer else True
        trace = meter.stop()
    assert trace.clock == ("meter" if timer else "host")
    assert any("each reading was polled" in note for note in trace.notes) == (not timer)


class _Simple(TcpInstrument):
    """An instrument that answers only *IDN? and MEAS:CURR?."""

    def answer(self, line: str) -> str | None:
        return {"*IDN?": "Some,Thing,1,2", "MEAS:CURR?": "+1.25E-3"}.get(line)


@pytest.mark.slow
def test_an_instrument_with_a_single_command_is_polled():
    with _Simple() as sim, ScpiPolled(sim.where, supply_v=3.0) as meter:
        trace = meter.record(0.2)
    assert len(trace) > 10
    assert set(trace.current_a) == {1.25e-3}


def test_addresses_with_and_without_a_prefix():
    with _Simple() as sim:
        host = sim.where.removeprefix("tcp:")
        for address in (sim.where, host, f"socket://{host}"):
            line = open_connection(address)
            line.write(b"*IDN?\n")
            assert line.read(2.0).startswith(b"Some,Thing")
            line.close()


def test_invalid_addresses_raise_an_error():
    with pytest.raises(UsageError, match="not an address"):
        open_connection("tcp:host:port")
    with pytest.raises(DeviceError, match="Nothing answers"):
        open_connection("tcp:127.0.0.1:1")
