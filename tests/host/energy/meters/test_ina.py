"""Tests of the registers of the INA chips, of the serial logger on a pseudo-terminal, and of opening meters by name."""

from __future__ import annotations

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.ina_chip import CHIPS, INA219, INA226, INA228, check_identity
from arenite.host.energy.meters.ina_i2c import InaI2c
from arenite.host.energy.meters.ina_logger import InaLogger, crc8
from arenite.host.energy.meters.open import METERS, open_meter
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_ina_logger import SimInaLogger


@pytest.mark.parametrize(
    ("chip", "shunt", "bus", "volts"),
    [
        # INA219: 320 mV is 0x7D00, -320 mV is 0x8300; 16 V is 4000 steps, shifted by three bits, with "ready" set.
        (INA219, "7d00", "7d02", (0.32, 16.0)),
        (INA219, "8300", "0000", (-0.32, 0.0)),
        # INA226: full scale is 81.92 mV minus one step; 11.98 V is 0x2570; -80 mV is 0x8300.
        (INA226, "7fff", "2570", (0.0819175, 11.98)),
        (INA226, "8300", "0000", (-0.08, 0.0)),
        # INA228: the value is in the upper 20 bits. The shunt values are 1 step and -1 step; 3.3 V is 16896 (0x4200)
        # steps.
        (INA228, "000010", "042000", (312.5e-9, 3.3)),
        (INA228, "fffff0", "000010", (-312.5e-9, 195.3125e-6)),
    ],
)
def test_registers_are_converted_to_volts(chip, shunt, bus, volts):
    assert chip.volts(bytes.fromhex(shunt), bytes.fromhex(bus)) == pytest.approx(volts, rel=1e-9)


def test_another_chip_raises_an_error():
    check_identity(INA226, b"\x54\x49", "x")
    check_identity(INA228, b"\x22\x81", "x")
    check_identity(INA219, b"\x00\x00", "x")
    with pytest.raises(DeviceError, match="not an INA228: register 0x3f reads 0x2380"):
        check_identity(INA228, b"\x23\x80", "The chip")


def test_a_missing_bus_and_wrong_addresses_raise_an_error():
    with pytest.raises(DeviceError, match="/dev/i2c-no-such"):
        InaI2c("/dev/i2c-no-such").open()
    for address in ("/dev/i2c-1:0x10", "/dev/i2c-1:x"):
        with pytest.raises(UsageError, match="not an address"):
            InaI2c(address)
    with pytest.raises(UsageError, match="shunt"):
        InaI2c("/dev/i2c-1", shunt_ohm=0)
    with pytest.raises(UsageError, match="ina229"):
        InaI2c("/dev/i2c-1", chip="ina229")


def test_crc8_of_the_standard_test_string():
    assert crc8(b"123456789") == 0xF4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_loggers_energy_is_within_one_percent(seed):
    truth = waveform.make(seed, inferences=8, scale=2.0)
    with SimInaLogger(truth, seed) as sim, InaLogger(sim.port) as meter:
        meter.start()
        assert sim.sent_all.wait(60)
        trace = meter.stop()
    assert trace.energy_j() == pytest.approx(truth.joules(0, truth.seconds), rel=0.01)
    assert trace.lost_samples == sim.bad > 0
    assert trace.gain_error == CHIPS["ina226"].gain_error
    assert trace.marks is not None and set(trace.marks) == {0, 1}


def test_every_meter_is_opened_by_its_name():
    for name in METERS:
        assert hasattr(
            open_meter(name, "/dev/i2c-9" if name.startswith("ina2") else "tcp:127.0.0.1:9"), "record"
        )
    with pytest.raises(UsageError, match="no meter 'scope'"):
        open_meter("scope", "x")
