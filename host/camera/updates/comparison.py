"""Compare the model that serves with another one for some time, and describe the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

from arenite.errors import ModelError
from arenite.host.camera.several.hot_swap_server import HotSwapServer
from arenite.host.camera.updates.shadow_process import ShadowProcess
from arenite.host.camera.updates.shadow_run import ShadowRun

#: Time in seconds between two looks at a running comparison.
POLL_S = 0.1


@dataclass(frozen=True)
class ComparisonResult:
    """``agreements`` and ``times_ms`` are those of ``ShadowRun``. ``seconds`` is the duration."""

    agreements: list[float]
    times_ms: list[float]
    seconds: float
    error: ModelError | None

    @property
    def agreement(self) -> float | None:
        return sum(self.agreements) / len(self.agreements) if self.agreements else None

    def to_json(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 3),
            "compared": len(self.agreements),
            "agreement": None if self.agreement is None else round(self.agreement, 4),
        }


class Comparison:
    """A comparison in progress: frames of ``server`` also go to ``shadow``. ``end`` ends it and the process."""

    def __init__(
        self, server: HotSwapServer, model: str, shadow: ShadowProcess, dropped: Callable[[], int]
    ) -> None:
        """``model`` is the name of the model that serves, and ``dropped`` returns how many frames the loop dropped."""
        self._server, self._shadow = server, shadow
        self._began = time.monotonic()
        self._run = ShadowRun(shadow, model, dropped)
        server.tap = self._run.offer

    @property
    def result(self) -> ComparisonResult:
        """The result so far."""
        run = self._run
        return ComparisonResult(
            list(run.agreements), list(run.times_ms), time.monotonic() - self._began, run.error
        )

    def wait(self, stopped: Event, enough: Callable[[ComparisonResult], bool]) -> None:
        """Wait until ``enough`` is true for the result, the other model failed, or ``stopped`` is set."""
        while not stopped.wait(POLL_S):
            result = self.result
            if result.error is not None or enough(result):
                return

    def end(self) -> ComparisonResult:
        """End the comparison and return its result."""
        self._server.tap = None
        result = self.result
        self._run.stop()
        self._shadow.close()
        return result
