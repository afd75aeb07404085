"""Serve frames with a model that another thread can replace between two frames, without losing a frame.

Each frame is finished by the model with which it was prepared. While a new model is on probation, the model before it
stays in memory. If the new one raises an error, the model before it computes the answer to the same frame.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.serving.frame_server import StagedServer

#: A function that gets every frame that a model answered, in the loop's thread: frame, window, answer, model's name.
#: The frame is valid during the call; a receiver that needs it later must retain it.
AnswerTap = Callable[[Frame, CropWindow | None, Answer, str], None]


class HotSwapServer:
    """A ``StagedServer`` of one model that can be replaced. Two threads must not use the same slot at once; any thread
    may call ``replace``, ``restore`` and ``retire``.

    Attributes:
        tap: gets every answer of a model; None: nobody.
        error: the error of the model on probation that made the server return; None if there was none.
        last_format: the format and the window of the last frame; None before the first frame.
        switches: how often the model was replaced.
    """

    def __init__(self, server: StagedServer) -> None:
        self._serving = server
        self._before: StagedServer | None = None  # takes over if the serving model raises an error
        self._all = [server]
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._frames: dict[int, tuple[StagedServer, Frame, CropWindow | None]] = {}  # the frame of each slot
        self._working: set[int] = set()  # slots whose frame has no answer yet
        self.slots = server.slots
        self.bytes_written = 0
        self.tap: AnswerTap | None = None
        self.error: Exception | None = None
        self.last_format: tuple[Format, CropWindow | None] | None = None
        self.switches = 0

    @property
    def serving(self) -> StagedServer:
        """The server of the model that gets the next frame."""
        return self._serving

    @property
    def name(self) -> str:
        return self._serving.name

    @property
    def staged(self) -> HotSwapServer:
        return self

    @property
    def preprocessing_code(self) -> str:
        return self._serving.preprocessing_code

    @property
    def labels(self) -> Sequence[str]:
        return self._serving.labels

    # Replacing the model

    def replace(self, server: StagedServer) -> StagedServer:
        """Serve the next frame with ``server``, which is warm. Return the server before it, which answers frames on
        which ``server`` raises an error, until ``retire``."""
        with self._lock:
            before, self._serving = self._serving, server
            self._before, self.error = before, None
            self.switches += 1
            if server not in self._all:
                self._all.append(server)
        return before

    def restore(self, before: StagedServer) -> None:
        """Serve the next frame with the server ``before`` again, which ``replace`` returned."""
        with self._lock:
            self.switches += self._serving is not before
            self._serving = before

    def retire(self, server: StagedServer, timeout_s: float = 10.0) -> None:
        """End the probation, and close ``server`` when no frame uses it. If that takes longer than ``timeout_s``,
        ``close`` closes it."""
        with self._idle:
            if server is self._serving or not self._idle.wait_for(lambda: not self._uses(server), timeout_s):
                return
            self._before = None
            self._all.remove(server)
            self._frames = {slot: use for slot, use in self._frames.items() if use[0] is not server}
        server.close()

    def _uses(self, server: StagedServer) -> bool:
        return any(self._frames[slot][0] is server for slot in self._working)

    def close(self) -> None:
        with self._lock:
            servers, self._all = self._all, []
        for server in servers:
            server.close()

    # Serving frames

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        self._serving.bind(format, window)

    def prepare(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> None:
        server = self._begin(frame, slot, window)
        try:
            server.prepare(frame, slot, window)
        except Exception as error:
            server = self._rescue(slot, server, error)
            server.prepare(frame, slot, window)
        self.bytes_written = server.bytes_written

    def invoke(self, slot: int = 0) -> None:
        server = self._server(slot)
        try:
            server.invoke(slot)
        except Exception as error:
            self._compute_again(slot, self._rescue(slot, server, error))

    def answer(self, slot: int = 0) -> Answer:
        server = self._server(slot)
        try:
            answer = server.answer(slot)
        except Exception as error:
            server = self._rescue(slot, server, error)
            self._compute_again(slot, server)
            answer = server.answer(slot)
        self._end(slot, answer)
        return answer

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        server = self._begin(frame, slot, window)
        try:
            served = server.serve(frame, slot, window)
        except Exception as error:
            server = self._rescue(slot, server, error)
            served = server.serve(frame, slot, window)
        self.bytes_written = server.bytes_written
        assert served.answer is not None
        self._end(slot, served.answer)
        return served

    def warm(self) -> None:
        """Run the model on the previous input of the first slot. Do nothing if the next frame goes to another model, or
        if the slot is in use."""
        with self._lock:
            use = self._frames.get(0)
            if use is None or use[0] is not self._serving or 0 in self._working:
                return
            self._working.add(0)  # keeps the model in memory
        try:
            use[0].warm()
        finally:
            self._release(0)

    def input(self, slot: int = 0) -> np.ndarray:
        return self._server(slot).input(slot)

    def model_of(self, slot: int = 0) -> str:
        return self._server(slot).model_of(slot)

    def _begin(self, frame: Frame, slot: int, window: CropWindow | None) -> StagedServer:
        with self._lock:
            server = self._serving
            self._frames[slot] = server, frame, window
            self._working.add(slot)
            self.last_format = frame.format, window
        return server

    def _server(self, slot: int) -> StagedServer:
        use = self._frames.get(slot)
        return self._serving if use is None else use[0]

    def _end(self, slot: int, answer: Answer) -> None:
        tap = self.tap
        if tap is not None:
            server, frame, window = self._frames[slot]
            tap(frame, window, answer, server.name)
        self._release(slot)

    def _release(self, slot: int) -> None:
        with self._idle:
            self._working.discard(slot)
            self._idle.notify_all()

    def _rescue(self, slot: int, server: StagedServer, error: Exception) -> StagedServer:
        """Return the server that answers the frame in ``slot``, because ``server`` raised ``error``. Raise ``error`` if
        ``server`` is not on probation."""
        with self._lock:
            before = self._before
            if before is None or before is server:
                raise error
            self.error = self.error or error
            if self._serving is server:
                self._serving = before
                self.switches += 1
            _, frame, window = self._frames[slot]
            self._frames[slot] = before, frame, window
        return before

    def _compute_again(self, slot: int, server: StagedServer) -> None:
        _, frame, window = self._frames[slot]
        server.prepare(frame, slot, window)
        server.invoke(slot)
