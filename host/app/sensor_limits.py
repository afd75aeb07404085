"""Refuse a model whose samples the driver of a real board's sensor cannot take."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.firmware.app.drivers.driver import Driver
from arenite.firmware.app.drivers.motion_sensors import CHIPS, RATES
from arenite.firmware.app.settings import StreamSettings
from arenite.host.app.sensor_stream import IMU
from arenite.profiles.board import Board

#: A chip's rate differs from that of the model by at most this share (imu_registers.h).
_TOLERANCE = 0.05
#: So many rates are listed one by one.
_FEW = 10


def check_sensor(driver: Driver | None, board: Board, sensor: str, settings: StreamSettings) -> None:
    """Raise ``UsageError`` if a sample has more channels than the driver has inputs, or the chip has no such rate."""
    if driver is None:
        return
    if driver.inputs is not None and settings.channels > driver.inputs:
        raise UsageError(
            f"The driver of {board.name} has {driver.inputs} inputs ({driver.wiring}), but a sample of the model has "
            f"{settings.channels} channels.",
            f"Set axes in [preprocessing.source] to {driver.inputs} or less, or choose another board "
            "(docs/app-boards.md).",
        )
    if driver.rates and not _has_rate(driver.rates, settings.rate):
        chips = [chip for chip in CHIPS if _has_rate(RATES[chip], settings.rate)] if sensor == IMU else []
        other = f", or connect another chip: --chip {' or '.join(chips)}" if chips else ""
        raise UsageError(
            f"The model takes {settings.rate} samples per second, which the sensor of {board.name} "
            f"({driver.wiring}) does not have: it has {_listed(driver.rates, settings.rate)}.",
            f"Set rate in [preprocessing.source] to one of them, within 5 %{other}.",
        )


def _has_rate(rates: tuple[float, ...], wanted: int) -> bool:
    return any(abs(has - wanted) <= _TOLERANCE * wanted for has in rates)


def _listed(rates: tuple[float, ...], wanted: int) -> str:
    """Return the rates as text, or the closest below and above ``wanted`` if they are many."""
    if len(rates) > _FEW:
        below, above = [r for r in rates if r < wanted], [r for r in rates if r > wanted]
        rates = (*below[-1:], *above[:1])
    return f"{', '.join(f'{rate:.4g}' for rate in rates)} Hz"
