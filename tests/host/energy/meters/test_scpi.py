"""The SCPI drivers with a simulated multimeter on a TCP socket."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.connection import open_connection
from arenite.host.energy.meters.scpi import ScpiMeter, values_of
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
    with SimDmm(truth, seed) as sim, ScpiMeter(sim.port, supply_v=truth.volts, rate_hz=20_000) as meter:
        meter.start()
        assert sim.emptied.wait(60)
        trace = meter.stop()
    assert trace.energy_j() == pytest.approx(truth.joules(0, truth.seconds), rel=0.01)
    assert trace.lost_samples == sim.invalid > 0
    result = measure(trace, find_windows(trace, expected=6, duration_s=length))
    assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)


def test_readings_arrive_during_the_recording():
    truth = waveform.make(1, inferences=1)
    with SimDmm(truth) as sim, ScpiMeter(sim.port, supply_v=3.0) as meter:
        meter.start()
        chunks = []
        for chunk in meter.samples(timeout_s=60):
            chunks.append(chunk)
            if sum(map(len, chunks)) == sim.valid:
                break
        recording = meter.stop()
    assert len(chunks) > 0
    assert sum(map(len, chunks)) == len(recording)


def test_a_multimeter_without_a_timer_is_polled():
    truth = waveform.make(2, inferences=2)
    with SimDmm(truth, timer=False) as sim:
        with pytest.raises(DeviceError, match="refused sampling by its own timer: -113"):
            ScpiMeter(sim.port).open()
        with ScpiPolled(sim.port, supply_v=3.0, rate_hz=500) as meter:
            meter.start()
            count = 0
            for chunk in meter.samples(timeout_s=60):
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
    with SimDmm(truth, timer=timer) as sim, Scpi(sim.port, supply_v=3.0) as meter:
        meter.start()
        assert len(next(meter.samples(timeout_s=60))) > 0 if timer else True
        trace = meter.stop()
    assert trace.clock == ("meter" if timer else "host")
    assert any("each reading was polled" in note for note in trace.notes) == (not timer)


class _Simple(TcpInstrument):
    """An instrument that answers only *IDN? and MEAS:CURR?."""

    def answer(self, line: str) -> str | None:
        return {"*IDN?": "Some,Thing,1,2", "MEAS:CURR?": "+1.25E-3"}.get(line)


@pytest.mark.slow
def test_an_instrument_with_a_single_command_is_polled():
    with _Simple() as sim, ScpiPolled(sim.port, supply_v=3.0) as meter:
        trace = meter.record(0.2)
    assert len(trace) > 10
    assert set(trace.current_a) == {1.25e-3}


class _Wrong(SimDmm):
    """A multimeter that gives ``reply`` to the queries that begin with ``question``, from the ``after``-th one on."""

    def __init__(self, question: str, reply: str, after: int = 0) -> None:
        super().__init__(waveform.make(1))
        self.question, self.reply, self.after, self.asked = question, reply, after, 0

    def answer(self, line: str) -> str | None:
        actual = super().answer(line)
        if not line.startswith(self.question):
            return actual
        self.asked += 1
        return self.reply if self.asked > self.after else actual


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("*IDN?", ""),
        ("*IDN?", "HTTP/1.1 400 Bad Request"),
        ("SYST:ERR?", "hello"),
        ("SYST:ERR?", ""),
        ("SAMP:TIM?", "fast"),
        ("SAMP:TIM?", "0"),
        ("SAMP:TIM?", "-1E-4"),
        ("SAMP:TIM?", "inf"),
        ("SAMP:TIM?", "nan"),
        ("SAMP:TIM?", "9.91E37"),
        ("SAMP:TIM?", "1E-4,1E-4"),
    ],
)
def test_a_wrong_reply_when_the_meter_is_opened_is_an_error(question: str, reply: str) -> None:
    with _Wrong(question, reply) as sim, pytest.raises(DeviceError) as error:
        ScpiMeter(sim.port).open()
    assert f"to '{question}'; expected " in error.value.problem


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("DATA:POIN?", ""),
        ("DATA:POIN?", "many"),
        ("DATA:POIN?", "-3"),
        ("DATA:POIN?", "inf"),
        ("DATA:POIN?", "1E300"),
        ("DATA:REM?", ""),
        ("DATA:REM?", "1E-3"),
        ("DATA:REM?", ",".join(["1E-3"] * 1501)),
        ("DATA:REM?", ",".join(["1E-3"] * 1499) + ",1E-"),
        ("DATA:REM?", ",".join(["1E-3"] * 1499) + ",nan"),
        ("DATA:REM?", "1E-3,,1E-3"),
        ("DATA:REM?", "#41234" + ",".join(["1E-3"] * 1500)),
        ("DATA:REM?", "#"),
        ("DATA:REM?", "\x1b[2Jhello"),
    ],
)
@pytest.mark.parametrize("after", [0, 1])
def test_a_wrong_reply_during_the_recording_is_an_error(question: str, reply: str, after: int) -> None:
    with _Wrong(question, reply, after) as sim, ScpiMeter(sim.port) as meter:
        meter.start()
        with pytest.raises(DeviceError) as error:
            for _ in meter.samples(60.0):
                pass
        with pytest.raises(DeviceError):
            meter.stop()
    assert f"to '{question}" in error.value.problem and "expected" in error.value.problem
    assert error.value.problem.isprintable()


@pytest.mark.parametrize("reply", ["nan", "", "1,2", "volts", "inf"])
def test_a_wrong_polled_reply_is_an_error(reply: str) -> None:
    with _Wrong("READ?", reply, after=1) as sim, ScpiPolled(sim.port) as meter:
        meter.start()
        with pytest.raises(DeviceError, match=r"to 'READ\?'; expected one number"):
            for _ in meter.samples(60.0):
                pass
        with pytest.raises(DeviceError):
            meter.stop()


def test_a_reply_may_begin_with_its_length() -> None:
    """The header of a block is #, the number of digits of the length, and the length. #0 means an unknown length."""
    assert values_of("#211+1.0E-3,2E-3") is None and values_of("#213+1.0E-3,2E-3") is None
    for text in ("#212+1.0E-3,2E-3", "#0+1.0E-3,2E-3", "+1.0E-3,2E-3", " 1E-3, 2E-3"):
        assert values_of(text) == pytest.approx([1e-3, 2e-3])


def test_addresses_with_and_without_a_prefix():
    with _Simple() as sim:
        host = sim.port.removeprefix("tcp:")
        for address in (sim.port, host, f"socket://{host}"):
            line = open_connection(address)
            line.write(b"*IDN?\n")
            assert line.read(2.0).startswith(b"Some,Thing")
            line.close()


def test_invalid_addresses_raise_an_error():
    with pytest.raises(UsageError, match="not an address"):
        open_connection("tcp:host:port")
    with pytest.raises(DeviceError, match="Nothing answers"):
        open_connection("tcp:127.0.0.1:1")
