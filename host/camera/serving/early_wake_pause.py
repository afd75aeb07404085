"""Pause the early wake-up while a limit restricts the loop, because its power is then better used for more frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from arenite.host.camera.serving.early_wake import EarlyWake

#: Seconds at full quality before the thread may wake up early. They double each time that a limit is reached less than
#: ``BLAME_S`` seconds after the pause ended, because the early wake-up itself may then be the cause.
HOLD_S, MAX_HOLD_S = 10.0, 640.0
BLAME_S = 60.0
#: The device throttles itself at a trip temperature. The pause begins this many kelvins below it.
BELOW_TRIP_K = 3.0


class EarlyWakePause:
    """A listener of the loop's state that sets ``early_wake.paused``.

    The pause lasts while the governor has lowered a lever or cannot keep a limit, and while the device is close to the
    temperature at which it throttles itself. Args: ``has_limits`` says whether the run has a budget; it then begins
    with a pause, because the cost of a frame is not known yet. ``clock`` returns seconds.
    """

    def __init__(
        self, early_wake: EarlyWake, has_limits: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._early_wake, self._clock = early_wake, clock
        self._hold_s = HOLD_S
        self._resumed_s: float | None = None
        self._free_since_s: float | None = None  # None while a limit restricts the loop
        early_wake.paused = has_limits

    def update(self, state: Mapping[str, Any]) -> None:
        now = self._clock()
        if _is_limited(state):
            if not self._early_wake.paused:
                if self._resumed_s is not None and now - self._resumed_s < BLAME_S:
                    self._hold_s = min(2 * self._hold_s, MAX_HOLD_S)
                self._early_wake.paused = True
            self._free_since_s = None
        elif self._early_wake.paused:
            if self._free_since_s is None:
                self._free_since_s = now
            if now - self._free_since_s >= self._hold_s:
                self._early_wake.paused, self._resumed_s = False, now


def _is_limited(state: Mapping[str, Any]) -> bool:
    governor = state.get("governor") or {}
    if governor.get("note") or any(lever["level"] > 0 for lever in governor.get("levels", ())):
        return True
    temperature = state.get("temperature") or {}
    trip = temperature.get("trip")
    return trip is not None and temperature["value"] >= trip - BELOW_TRIP_K
