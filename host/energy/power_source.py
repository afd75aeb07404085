"""Define ``PowerSource``, a sensor or an estimate of the power of this computer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arenite.host.energy.base import PowerMeter

#: The scopes of sources, the preferred one first: the measured power of the whole device, of the processor package, or
#: of another part; and an estimate.
DEVICE, PACKAGE, PART, ESTIMATE = "device", "package", "part", "estimate"
SCOPES = (DEVICE, PACKAGE, PART, ESTIMATE)


@dataclass(frozen=True, slots=True)
class PowerSource:
    """A source of power readings. ``scope``: one of SCOPES. ``where`` is the file or command from which the readings
    come. ``open`` returns a meter that reads the source. It is None if the source cannot be used; ``note`` then gives
    the reason."""

    name: str
    scope: str
    where: str
    open: Callable[[], PowerMeter] | None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the source as a dict of JSON values, for ``arenite doctor``."""
        return {
            "name": self.name,
            "scope": self.scope,
            "where": self.where,
            "usable": self.open is not None,
            "note": self.note,
        }
