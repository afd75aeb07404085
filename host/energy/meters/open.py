"""Create a meter by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arenite.errors import UsageError
from arenite.host.energy.meters.base import Meter


def _ppk2(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.ppk2 import Ppk2

    return Ppk2(where, supply_v, **options)


def _lpm01a(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.lpm01a import Lpm01a

    return Lpm01a(where, supply_v, **options)


def _otii(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.otii import Otii

    return Otii(where, supply_v, **options)


def _scpi(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.scpi_polled import Scpi

    return Scpi(where, supply_v, **options)


def _scpi_polled(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.scpi_polled import ScpiPolled

    return ScpiPolled(where, supply_v, **options)


def _ina_logger(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.ina_logger import InaLogger

    return InaLogger(where, **options)


def _joulescope(where: str, supply_v: float, **options: Any) -> Meter:
    from arenite.host.energy.meters.joulescope import JoulescopeMeter

    return JoulescopeMeter(where, **options)


def _ina(chip: str) -> Callable[..., Meter]:
    def make(where: str, supply_v: float, **options: Any) -> Meter:
        from arenite.host.energy.meters.ina_i2c import InaI2c

        return InaI2c(where, chip, **options)

    return make


#: Drivers by name. The INA chips and a Joulescope measure the supply, so they ignore ``supply_v``.
METERS: dict[str, Callable[..., Meter]] = {
    "ppk2": _ppk2,
    "lpm01a": _lpm01a,
    "otii": _otii,
    "scpi": _scpi,
    "scpi-polled": _scpi_polled,
    "joulescope": _joulescope,
    "ina-logger": _ina_logger,
    "ina219": _ina("ina219"),
    "ina226": _ina("ina226"),
    "ina228": _ina("ina228"),
}


def open_meter(name: str, where: str, supply_v: float = 3.3, **options: Any) -> Meter:
    """Return a meter that is not open yet. Use it in a ``with`` statement.

    Args:
        name: a key of METERS.
        where: a serial port, ``tcp:HOST:PORT``, or ``/dev/i2c-N:ADDRESS``.
        supply_v: the voltage that the meter or another supply gives.
        options: further arguments of the driver's constructor.

    Raises:
        UsageError: the name is unknown, or the meter does not support a value.
    """
    if name not in METERS:
        raise UsageError(
            f"There is no meter '{name}'.",
            f"The meters are {', '.join(METERS)}; CSV files of other meters can be read.",
        )
    return METERS[name](where, supply_v, **options)
