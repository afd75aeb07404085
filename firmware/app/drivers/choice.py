"""Choose the driver of a sensor on a real board."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.firmware.app.drivers.cameras import camera_of
from arenite.firmware.app.drivers.converters import converter_of
from arenite.firmware.app.drivers.driver import Driver
from arenite.firmware.app.drivers.microphones import microphone_of
from arenite.firmware.app.drivers.motion_sensors import motion_sensor_of
from arenite.profiles.board import Board


def driver_of(board: Board, sensor: str, chip: str | None = None) -> Driver | None:
    """Return the driver of ``sensor`` at a real board, or None if there is none. ``chip`` is the name of the sensor's
    chip, or None for the usual one of the board.

    Raises ``UsageError`` if the sensor is neither a motion sensor nor a camera but has a ``chip``, or if the chip has
    no driver.
    """
    if chip is not None and sensor not in ("imu", "camera"):
        raise UsageError(
            "--chip is for motion sensors and cameras.",
            "Add --sensor imu or --sensor camera, or remove --chip.",
        )
    if sensor == "imu":
        return motion_sensor_of(board, chip)
    if sensor == "camera":
        return camera_of(board, chip)
    if sensor == "adc":
        return converter_of(board)
    return microphone_of(board) if sensor == "microphone" else None
