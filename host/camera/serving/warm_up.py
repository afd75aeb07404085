"""Warm up a server with a black frame, so that its tables are built and its memory is mapped before the first frame."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.serving.frame_server import StagedServer


def warm_up(server: StagedServer, format: Format, window: CropWindow | None) -> None:
    """Serve a black frame of ``format`` in every slot of ``server``."""
    planes = planes_of(format.pixels, format.width, format.height)
    strides = format.strides if len(format.strides) == len(planes) else (format.strides[0],) * len(planes)
    buffers = [np.zeros(rows * stride, np.uint8) for (_, rows), stride in zip(planes, strides, strict=True)]
    black = Frame(format, tuple(plane.ctypes.data for plane in buffers), buffers, 0, 0)
    for slot in range(server.slots):
        server.prepare(black, slot, window)
        server.invoke(slot)
        server.answer(slot)
