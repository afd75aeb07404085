"""Serve frames with models that share a memory budget, or with several models per frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.runtimes.base import Runtime
from arenite.host.camera.serving.frame_server import FrameServer
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.several.model_pool import ModelPool


class PooledModelServer:
    """A ``FrameServer`` of a model in a pool. The pool may unload the model between two frames. The next frame then
    waits until the model is loaded again, and its spans contain ``load``. ``key`` is the key of the model in the
    pool."""

    slots = 1
    staged = None

    def __init__(self, model: CameraModel, pool: ModelPool, key: str) -> None:
        self.model, self.name = model, model.name
        self.bytes_written = 0
        self._pool, self._key = pool, key
        self._runtime: Runtime | None = None
        self._server: ModelServer | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        import time

        begin = time.monotonic_ns()
        with self._pool.use(self._key) as runtime:
            if runtime is not self._runtime:
                self._runtime, self._server = runtime, ModelServer(self.model, runtime)
                self._server.bind(frame.format, window)
                ready = time.monotonic_ns()
            else:
                ready = 0
            assert self._server is not None
            served = self._server.serve(frame, slot, window)
            self.bytes_written = self._server.bytes_written
        if ready:
            served.spans = {"load": (begin, ready)} | served.spans
        return served

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        """Do nothing, because ``serve`` prepares each runtime that the pool loads."""

    def close(self) -> None:
        """Do nothing, because the pool closes the models."""


class ModelGroup:
    """A ``FrameServer`` that runs several models on every frame, one after the other. The frame's answer is the
    answer of the first model. The answers of the other models are in ``ServedFrame.extra["also"]``, by name."""

    slots = 1
    staged = None

    def __init__(self, servers: list[FrameServer]) -> None:
        self.servers = servers
        self.name = " + ".join(server.name for server in servers)
        self.bytes_written = 0

    @property
    def labels(self) -> Sequence[str]:
        return self.servers[0].labels

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        served = self.servers[0].serve(frame, slot, window)
        written = self.servers[0].bytes_written
        also: dict[str, Any] = {}
        for server in self.servers[1:]:
            next_served = server.serve(frame, slot, window)
            written += server.bytes_written
            served.spans |= {f"{name}:{server.name}": span for name, span in next_served.spans.items()}
            also[server.name] = next_served.answer.to_json() if next_served.answer is not None else None
        served.extra["also"] = also
        self.bytes_written = written
        return served

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        for server in self.servers:
            server.bind(format, window)

    def close(self) -> None:
        for server in self.servers:
            server.close()
