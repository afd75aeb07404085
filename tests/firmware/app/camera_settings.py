"""The settings of a small camera application."""

from __future__ import annotations

from arenite.firmware.app.camera_settings import CameraSettings

ROOM, BYTES = 3, 6
SETTINGS = CameraSettings(
    rate=10,
    width=6,
    height=4,
    row_bytes=BYTES,
    row_us=100,
    hop=1,
    room=ROOM,
    classes=2,
    events=2,
    format="grey",
)
