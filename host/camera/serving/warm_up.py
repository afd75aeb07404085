"""A server that has worked once before the first real frame: tables are made, memory is touched."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame


class StagedServer(Protocol):
    """What a ladder needs of a ``ModelServer``."""

    @property
    def name(self) -> str: ...
    @property
    def slots(self) -> int: ...
    @property
    def bytes_written(self) -> int: ...
    def prepare(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> None: ...
    def invoke(self, slot: int = 0) -> None: ...
    def answer(self, slot: int = 0) -> Answer: ...
    def input(self, slot: int = 0) -> np.ndarray: ...
    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame: ...
    def close(self) -> None: ...


def warm_up(server: StagedServer, format: Format, window: CropWindow | None) -> None:
    """A black frame of that format through every slot."""
    planes = planes_of(format.pixels, format.width, format.height)
    strides = format.strides if len(format.strides) == len(planes) else (format.strides[0],) * len(planes)
    held = [np.zeros(rows * stride, np.uint8) for (_, rows), stride in zip(planes, strides, strict=True)]
    black = Frame(format, tuple(plane.ctypes.data for plane in held), held, 0, 0)
    for slot in range(server.slots):
        server.prepare(black, slot, window)
        server.invoke(slot)
        server.answer(slot)
