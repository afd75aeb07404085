"""The kinds of events that the server acts on. Events of other kinds are only stored."""

from __future__ import annotations

from typing import Literal

BOOT = "arenite.boot/1"
HEARTBEAT = "arenite.heartbeat/1"
UPDATE_OUTCOME = "arenite.update-outcome/1"

ResetCause = Literal[
    "power_on", "reset_pin", "software", "update", "watchdog", "fault", "brownout", "unknown"
]
#: The causes that count as a crash of the release that ran before.
CRASH_CAUSES: tuple[ResetCause, ...] = ("watchdog", "fault")
