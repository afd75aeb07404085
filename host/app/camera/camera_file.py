"""Write the rows of a virtual camera, with the faults of a real one: lost, late and stuck rows, an unplugged camera.

``virtual_camera.c`` reads this file and describes its format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from arenite.errors import UsageError
from arenite.firmware.app.camera_settings import CameraSettings
from arenite.host.app.sensor_file import LATE, LOST, STUCK, UNPLUGGED, Fault

#: The name of the file that virtual_camera.c reads.
CAMERA_FILE = "camera.bin"
#: The number of a row that stands for the end.
_END = 2**32 - 1
#: What the first number tells.
_PRINTS_SCORES, _BEGINS_HELD = 1, 2


def camera_records(
    frames: Sequence[np.ndarray],
    settings: CameraSettings,
    faults: Iterable[Fault] = (),
    *,
    begins_held: bool = False,
) -> Iterator[bytes]:
    """Yield the contents of ``camera.bin``.

    Args:
        frames: uint8 [bytes of a frame] in the camera's format.
        settings: the size of a frame, and the times of frames and rows.
        faults: faults, which begin at a row and concern rows, counted from the first row of the first frame. ``lost``
            rows never arrive. ``late`` rows arrive together with the last one of them. ``stuck`` rows repeat the same
            row of the frame before them. An ``unplugged`` camera sends nothing for the time of so many rows, a frame's
            time divided by its rows; then the next row follows.
        begins_held: whether the camera waits for the command ``binary hold``.

    Raises ``UsageError`` for a fault after the last row.
    """
    height = settings.height
    total = len(frames) * height
    shape = (total, settings.row_bytes)
    rows = (np.concatenate(frames) if frames else np.zeros(0, np.uint8)).reshape(shape).copy()
    number = np.arange(total, dtype=np.int64)
    arrival = number // height * settings.frame_us + (number % height + 1) * settings.row_us
    keep = np.ones(total, bool)
    for fault in faults:
        if fault.at >= total:
            raise UsageError(
                f"A fault begins at row {fault.at}, but there are {total} rows.", "Let it begin earlier."
            )
        end = min(fault.at + fault.count, total)
        if fault.kind == STUCK:
            for row in range(max(fault.at, height), end):
                rows[row] = rows[row - height]
        elif fault.kind == LATE:
            arrival[fault.at : end] = arrival[end - 1]
        elif fault.kind == LOST:
            keep[fault.at : end] = False
        else:
            assert fault.kind == UNPLUGGED
            arrival[fault.at :] += fault.count * settings.frame_us // height
    last = int(arrival[-1]) if total else 0
    yield struct.pack("<I", _BEGINS_HELD if begins_held else _PRINTS_SCORES)
    yield from _records(rows, arrival, keep, height, last + 2 * settings.hop * settings.frame_us)


def _records(
    rows: np.ndarray, arrival: np.ndarray, keep: np.ndarray, height: int, end: int
) -> Iterator[bytes]:
    for k in np.flatnonzero(keep).tolist():
        at = int(arrival[k])
        yield struct.pack("<IIII", at & _END, at >> 32, k // height, k % height) + rows[k].tobytes()
    yield struct.pack("<IIII", end & _END, end >> 32, 0, _END)
