"""Whether devices are online, for people and for metrics."""

from __future__ import annotations

from typing import Literal, get_args

#: ``online``: the device is connected to the broker, and its events arrived within ``SILENT_MS``. ``silent``: no event
#: arrived for that time. ``offline``: the device was heard within that time, and is not connected now.
Presence = Literal["online", "silent", "offline"]
PRESENCES: tuple[Presence, ...] = get_args(Presence)

SILENT_MS = 3600 * 1000

#: The presence of a row of the table ``devices`` in SQL. Its parameter is ``silent_before``.
PRESENCE_SQL = "CASE WHEN seen_ms < ? THEN 'silent' WHEN is_online = 1 THEN 'online' ELSE 'offline' END"


def silent_before(now_ms: int) -> int:
    """Return the time before which a device that was last heard then is silent."""
    return now_ms - SILENT_MS
