"""The Otii driver against a simulated server on a TCP socket."""

from __future__ import annotations

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.otii import Otii
from arenite.host.energy.windows.find import GPIO, find_windows
from arenite.host.energy.windows.result import measure
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_otii import SimOtii
from tests.host.energy.meters.sim_scpi import SimDmm


@pytest.mark.parametrize("seed", range(4))
def test_energy_is_within_one_percent_of_the_truth(seed):
    truth = waveform.make(seed, inferences=12)
    with SimOtii(truth, seed) as sim:
        with Otii(sim.port, supply_v=truth.volts) as meter:
            meter.start()
            trace = meter.stop()
        assert sim.main == [True, False]
        assert sim.enabled == {"mc", "mv", "i1", "i2"}
    assert trace.energy_j() == pytest.approx(truth.joules(0, truth.seconds), rel=0.01)
    assert trace.lost_samples == sim.missing > 0
    assert trace.rate_hz == pytest.approx(4000)
    windows = find_windows(trace)
    assert windows.method == GPIO
    result = measure(trace, windows)
    assert len(result.energy_uj) == 12
    assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)


@pytest.mark.slow
def test_errors_of_the_otii_server_are_raised():
    truth = waveform.make(0, inferences=1)
    with (
        SimOtii(truth, licence=False) as sim,
        Otii(sim.port) as meter,
        pytest.raises(DeviceError, match="no automation licence"),
    ):
        meter.start()
    with SimOtii(truth) as sim, pytest.raises(DeviceError, match="connected are: My Arc"):
        Otii(sim.port, device="Yours").open()
    with SimDmm(truth) as other_instrument, pytest.raises(DeviceError, match="does not answer"):
        impatient = Otii(other_instrument.port)
        ask = impatient._request
        setattr(impatient, "_ask", lambda command, **data: ask(command, 0.3, **data))  # noqa: B010  (a method)
        impatient.open()
    with pytest.raises(UsageError, match="9 V"):
        Otii(supply_v=9)
