"""The power sources of this computer, including unusable ones with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arenite.host.energy.base import PowerMeter

#: How much of the computer a figure covers; the best first.
DEVICE, PACKAGE, PART, ESTIMATE = "device", "package", "part", "estimate"
SCOPES = (DEVICE, PACKAGE, PART, ESTIMATE)


@dataclass(frozen=True, slots=True)
class PowerSource:
    """One place to read power from. ``open``: None when it cannot be used, and ``note`` then gives the
    reason."""

    name: str
    scope: str
    where: str
    open: Callable[[], PowerMeter] | None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """For ``arenite doctor``."""
        return {
            "name": self.name,
            "scope": self.scope,
            "where": self.where,
            "usable": self.open is not None,
            "note": self.note,
        }
