"""Copy frames into separate memory, because the queries of a scenario use the same frames repeatedly."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.errors import DeviceError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import EndOfSource, Source

#: The maximum number of frames and of bytes. They are more than a processor's caches hold, but limit the memory.
MAX_FRAMES, MAX_BYTES = 32, 128 << 20
#: The time in seconds to wait for a camera that delivers no frame.
FRAME_WAIT_S = 10.0


def collect_frames(source: Source) -> list[Frame]:
    """Return copies of the next frames of ``source``. Raises ``DeviceError`` if the source delivers no frame."""
    copies: list[Frame] = []
    copied_bytes = 0
    deadline_s = time.monotonic() + FRAME_WAIT_S
    while len(copies) < MAX_FRAMES and copied_bytes < MAX_BYTES and time.monotonic() < deadline_s:
        try:
            frame = source.read(0.5)
        except EndOfSource:
            break
        if frame is None:
            continue
        copies.append(copy_frame(frame))
        frame.release()
        copied_bytes += sum(plane.nbytes for plane in copies[-1].owner)  # type: ignore[attr-defined]
        deadline_s = time.monotonic() + FRAME_WAIT_S
    if not copies:
        raise DeviceError(
            f"{source.name} delivered no frame in {FRAME_WAIT_S:g} s.", "Check the camera and its cable."
        )
    return copies


def copy_frame(frame: Frame) -> Frame:
    """Copy a frame into separate memory, without gaps between rows. Only the bytes from its first to its last pixel are
    read."""
    format = frame.format
    shapes = planes_of(format.pixels, format.width, format.height)
    strides, addresses = format.strides, list(frame.planes)
    if len(strides) == 1 < len(shapes):
        strides += (strides[0] // (len(shapes) - 1),) * (len(shapes) - 1)
    for (_, rows), stride in list(zip(shapes, strides, strict=True))[len(addresses) - 1 : -1]:
        addresses.append(addresses[-1] + rows * stride)  # the planes are one after the other in one buffer
    planes = []
    for (row, rows), stride, address in zip(shapes, strides, addresses, strict=True):
        memory = (ctypes.c_uint8 * ((rows - 1) * stride + row)).from_address(address)
        planes.append(np.ndarray((rows, row), np.uint8, memoryview(memory), 0, (stride, 1)).copy())
    return Frame(
        Format(format.pixels, format.width, format.height, tuple(row for row, _ in shapes), format.fps),
        tuple(plane.ctypes.data for plane in planes),
        planes,
        frame.sequence,
        frame.time_ns,
        source=frame.source,
    )
