"""The meter that a command line asks for, found where it is connected when nobody says where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meter_discovery import find_meters
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.open import METERS, open_meter

AUTO = "auto"
#: Meters that need no place: their own package finds them.
METERS_WITHOUT_PORT = ("joulescope",)
#: Meters whose samples per second can be chosen, and as what.
METERS_WITH_RATE: dict[str, type] = {"lpm01a": int, "scpi": float, "scpi-polled": float, "joulescope": int}


@dataclass(frozen=True)
class MeterChoice:
    """``name`` of METERS or "auto"; ``where``: its port, or "auto"; ``own_supply``: another supply feeds the board."""

    name: str
    where: str
    supply_v: float
    own_supply: bool = False
    rate_hz: float | None = None

    def make(self) -> tuple[Meter, str]:
        """The meter, not open yet, and where it is.

        Raises:
            UsageError: several are connected where one is to be found, or an option that it does not have.
            DeviceError: none is connected.
        """
        name, where = self.name, self.where
        if name == AUTO or (where == AUTO and name not in METERS_WITHOUT_PORT):
            name, where = self._found()
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
                raise UsageError(f"The rate of {name} cannot be chosen.", "Leave out --rate.")
            options["rate_hz"] = METERS_WITH_RATE[name](self.rate_hz)
        return open_meter(name, where, self.supply_v, **options), where

    def _found(self) -> tuple[str, str]:
        requested = None if self.name == AUTO else self.name
        seen = find_meters()
        usable = [one for one in seen if one.sure and requested in (None, one.name)]
        if self.where != AUTO:
            usable = [one for one in seen if one.where == self.where]
        if len(usable) == 1:
            return usable[0].name, usable[0].where
        if self.where != AUTO:
            raise UsageError(
                f"What is at {self.where} does not say which meter it is.",
                f"Name it: --meter {', '.join(METERS)}.",
            )
        listing = ", ".join(f"{one.name} at {one.where}{'' if one.sure else ' (perhaps)'}" for one in seen)
        count = "More than one" if usable else "No"
        problem = f"{count} meter{'' if requested is None else ' ' + requested} was found"
        # Of several one has to be chosen; one that is not there has to be plugged in.
        kind = UsageError if usable else DeviceError
        raise kind(
            f"{problem}{'; seen: ' + listing if listing else ''}.",
            "Name it and its port, as --meter ppk2 --meter-port /dev/ttyACM0.",
        )
