"""An installer without a device: it knows releases, and each installation has a result that the test chose."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from arenite.host.fleet.installer import InstallResult, RunningRelease
from arenite.host.fleet.messages import DesiredRelease
from arenite.host.fleet.observations import DriftReference

REFERENCE = DriftReference(((1, 2, 3, 4, 4, 3, 2, 1), (4, 3, 2, 1, 0, 0, 0, 0)), (5, 3, 2))


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def running(release: str, reference: DriftReference = REFERENCE) -> RunningRelease:
    return RunningRelease(
        release, hash_of(f"firmware {release}"), hash_of(f"model {release}"), hash_of("abi"), reference
    )


class SimulatedInstaller:
    """Results of releases that are not in ``results`` are ``installed``."""

    def __init__(self, release: str, results: dict[str, InstallResult] | None = None) -> None:
        self._running = running(release)
        self._results = results or {}
        self._result: InstallResult | None = None
        self.begun: list[DesiredRelease] = []

    def running(self) -> RunningRelease:
        return self._running

    def begin(self, desired: DesiredRelease) -> None:
        self.begun.append(desired)
        self._result = self._results.get(desired.release, InstallResult("installed"))
        if self._result.outcome == "installed":
            self._running = replace(running(desired.release), reference=self._running.reference)

    def poll(self) -> InstallResult | None:
        return self._result
