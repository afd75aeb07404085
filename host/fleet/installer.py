"""What an agent needs to know of the program that installs releases on its device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from arenite.host.fleet.messages import DesiredRelease
from arenite.host.fleet.observations import DriftReference

#: ``unchanged``: the device ran the release already. ``put_back``: the release was on trial and did not prove itself.
Outcome = Literal["installed", "unchanged", "refused", "put_back"]
OUTCOMES: tuple[Outcome, ...] = ("installed", "unchanged", "refused", "put_back")


@dataclass(frozen=True, slots=True)
class RunningRelease:
    """What runs on a device: the release, the SHA-256 hashes of the firmware and of the model, and the ABI hash that
    both share."""

    release: str
    firmware: str
    model: str
    abi: str
    reference: DriftReference


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """The result of the golden self-test: the number of cases, and of those whose outputs have a wrong byte."""

    cases: int
    failures: int

    def to_json(self) -> dict[str, Any]:
        return {"cases": self.cases, "failures": self.failures}


@dataclass(frozen=True, slots=True)
class InstallResult:
    outcome: Outcome
    reason: str = ""
    golden: GoldenResult | None = None


class Installer(Protocol):
    def running(self) -> RunningRelease:
        """Return what runs now."""
        ...

    def begin(self, desired: DesiredRelease) -> None:
        """Begin to fetch, install and try a release. It returns at once. After a restart, it may be called again for
        the release that is being installed."""
        ...

    def poll(self) -> InstallResult | None:
        """Return the result of the installation that ``begin`` began, or None while it is in progress. An installer
        that was started again in between still knows the result."""
        ...
