"""Choose the meter that a command line names, or the connected meter if no port is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meter_discovery import find_meters
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.open import METERS, open_meter

AUTO = "auto"
#: Meters that need no port, because their own package finds them.
METERS_WITHOUT_PORT = ("joulescope",)
#: Meters whose samples per second can be set, with the type of the driver's option ``rate_hz``.
METERS_WITH_RATE: dict[str, type] = {"lpm01a": int, "scpi": float, "scpi-polled": float, "joulescope": int}


@dataclass(frozen=True)
class MeterChoice:
    """The requested meter. ``name`` is a key of METERS or "auto"; ``where`` is its port or "auto". ``supply_v``: the
    board's supply voltage. ``own_supply``: another supply than the meter feeds the board."""

    name: str
    where: str
    supply_v: float
    own_supply: bool = False
    rate_hz: float | None = None

    def make(self) -> tuple[Meter, str]:
        """Return the meter, which is not open yet, and its port.

        Raises:
            UsageError: several meters are connected and none is named, or an option does not apply.
            DeviceError: no meter is connected.
        """
        name, where = self.name, self.where
        if name == AUTO or (where == AUTO and name not in METERS_WITHOUT_PORT):
            name, where = self._detect()
        options: dict[str, Any] = {}
        if self.own_supply:
            if name != "ppk2":
                raise UsageError(
                    f"--own-supply is for a PPK2; {name} "
                    + ("always feeds the board." if name in ("lpm01a", "otii") else "never feeds the board."),
                    "Leave it out.",
                )
            options["source"] = False
        if self.rate_hz is not None:
            if name not in METERS_WITH_RATE:
                raise UsageError(f"The rate of {name} cannot be set.", "Leave out --rate.")
            options["rate_hz"] = METERS_WITH_RATE[name](self.rate_hz)
        return open_meter(name, where, self.supply_v, **options), where

    def _detect(self) -> tuple[str, str]:
        """Return the name and the port of the only connected meter that matches the request."""
        requested = None if self.name == AUTO else self.name
        meters = find_meters()
        usable = [detected for detected in meters if detected.sure and requested in (None, detected.name)]
        if self.where != AUTO:
            usable = [detected for detected in meters if detected.where == self.where]
        if len(usable) == 1:
            return usable[0].name, usable[0].where
        if self.where != AUTO:
            raise UsageError(
                f"The type of the meter at {self.where} is not known.",
                f"Name it: --meter {', '.join(METERS)}.",
            )
        listing = ", ".join(
            f"{detected.name} at {detected.where}{'' if detected.sure else ' (perhaps)'}"
            for detected in meters
        )
        count = "More than one" if usable else "No"
        problem = f"{count} meter{'' if requested is None else ' ' + requested} was found"
        # If several meters are connected, the user has to choose one of them; a missing meter has to be connected.
        kind = UsageError if usable else DeviceError
        raise kind(
            f"{problem}{'; found: ' + listing if listing else ''}.",
            "Name it and its port, as --meter ppk2 --meter-port /dev/ttyACM0.",
        )
