"""Contains the programs that the store counter measures, on YUYV frames of 1280x720: the camera loop, and a loop that
copies the input tensor once."""

from __future__ import annotations

import mmap
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.runtimes.base import Runtime
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.sources.base import SourceCounters
from benchmarks.camera.store_counter import MeasuredLoop

WIDTH, HEIGHT, BUFFERS = 1280, 720, 3


class Camera:
    """A ``Source`` of frames with noise. It delivers the addresses of its page-aligned buffers.

    A real driver would add its own writes (by DMA) and two system calls."""

    name = "noise"
    live = False

    def __init__(self) -> None:
        self.counters = SourceCounters()
        self.format = Format("yuyv", WIDTH, HEIGHT, (2 * WIDTH,))
        rng = np.random.default_rng(0)
        self._buffers = [np.frombuffer(mmap.mmap(-1, 2 * WIDTH * HEIGHT), np.uint8) for _ in range(BUFFERS)]
        for buffer in self._buffers:
            buffer[:] = rng.integers(0, 256, buffer.size, np.uint8)
        self._addresses = [buffer.ctypes.data for buffer in self._buffers]
        self._free = deque(range(BUFFERS))

    def open(self) -> Format:
        return self.format

    def read(self, timeout_s: float) -> Frame | None:
        index = self._free.popleft()
        self.counters.captured += 1
        return Frame(
            self.format, (self._addresses[index],), self, self.counters.captured, time.monotonic_ns(),
            lambda: self._free.append(index),
        )  # fmt: skip

    def set_rate(self, fps: float) -> float:
        return fps

    def close(self) -> None:
        pass


class _After:
    """A sink that calls ``after`` at the end of each frame."""

    def __init__(self, after: Callable[[], None]) -> None:
        self._after = after

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self._after()

    def close(self) -> None:
        pass


def tensors(runtime: Runtime) -> dict[str, tuple[int, int]]:
    """Return (address, size in bytes) of all input and output tensors of all slots of the runtime, by name."""
    regions = {}
    for place, slot in enumerate(runtime.slots):
        for kind, memories in (("input", slot.inputs), ("output", slot.outputs)):
            for number, memory in enumerate(memories):
                regions[f"{kind} {place}.{number}"] = (memory.address, memory.bytes)
    return regions


def loop(path: str, server: type[ModelServer] = ModelServer) -> MeasuredLoop:
    """Return a program that does all work of ``arenite camera`` per frame, from the camera's buffer to the sinks.
    ``path`` is the model's file, ``server`` the class that serves the frames."""
    runtime = open_runtime(Path(path))
    camera = Camera()
    model_server = server(open_model(path), runtime)
    model_server.bind(camera.format)

    def run(count: int, after: Callable[[], None]) -> None:
        Loop(camera, model_server, sinks=(_After(after),), frames=count).run()

    return MeasuredLoop(run, tensors(runtime), runtime)


class CopyingServer(ModelServer):
    """A model server that copies the input tensor once per frame, as ``set_tensor`` does. A test checks that the store
    counter counts this copy."""

    def invoke(self, slot: int = 0) -> None:
        tensor = self.runtime.slots[slot].inputs[0].array()
        tensor[...] = tensor.copy()
        super().invoke(slot)


def copying_loop(path: str) -> MeasuredLoop:
    return loop(path, CopyingServer)
