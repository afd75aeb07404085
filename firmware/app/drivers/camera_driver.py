"""The driver of a camera: its chip, and what the chip sends."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.firmware.app.drivers.camera_chips import CHIPS, CameraChip, CameraFrame, camera_frame
from arenite.firmware.app.drivers.driver import Driver

#: The files of a camera whose chip is set up by this project, besides the driver that takes its rows.
CHIP_FILES = ("camera_bus.h", "camera_chip.h", "camera_registers.h", "camera_rows.c", "camera_rows.h")


@dataclass(frozen=True)
class CameraDriver(Driver):
    """A driver of a camera.

    Attributes:
        chip: the name of the camera's chip; "" if the framework finds it.
        clock_hz: the frequency of the clock at the chip.
        other_chip: what the framework sends, if it sets up the chip.
        holds_frame: whether a whole frame is in memory.
    """

    chip: str = ""
    clock_hz: int = 0
    other_chip: CameraChip | None = None
    holds_frame: bool = False

    def frame(self, width: int, height: int, format: str) -> CameraFrame:
        """Return what the chip sends for frames of ``width`` x ``height`` pixels of ``format``. Raises ``UsageError``
        if it has no such frames."""
        return camera_frame(self.other_chip or CHIPS[self.chip], self.clock_hz, width, height, format)
