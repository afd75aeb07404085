"""Let a second model answer a sample of the frames that the loop serves, and compare the answers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from arenite.errors import ModelError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.updates.answer_agreement import agreement
from arenite.host.camera.updates.shadow_process import ShadowProcess

#: Pause after each frame, as a multiple of the time that the frame took. With one processor, the second model and the
#: loop share it.
_PAUSE = 1.0 if (os.cpu_count() or 1) > 1 else 3.0
#: If the loop drops a frame meanwhile, the pauses become this many times longer, up to a maximum.
_SLOWER, _MAX_PAUSE = 2.0, 64.0


class ShadowRun:
    """Gives frames of the loop to a second model. ``offer`` is the tap of a ``HotSwapServer``; it never waits: while
    the second model works or pauses, it ignores frames.

    Attributes:
        agreements: the agreement of each compared pair of answers, 0 to 1.
        times_ms: the time that the second model took for each frame.
        error: why the second model failed; None if it works.
    """

    def __init__(self, shadow: ShadowProcess, model: str, dropped: Callable[[], int]) -> None:
        """``model`` is the name of the model whose answers are compared; around a switch, frames of another one are in
        progress. ``dropped`` returns how many frames the loop has dropped."""
        self._shadow, self._model, self._dropped = shadow, model, dropped
        self.agreements: list[float] = []
        self.times_ms: list[float] = []
        self.error: ModelError | None = None
        self._busy = False
        self._ended = threading.Event()
        self._frames: SimpleQueue[tuple[Frame, CropWindow | None, Answer] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="shadow", daemon=True)
        self._thread.start()

    def offer(self, frame: Frame, window: CropWindow | None, answer: Answer, model: str) -> None:
        """Take a frame with its answer if the second model is free. The loop calls this."""
        if not self._busy and model == self._model and not self._ended.is_set():
            self._busy = True
            self._frames.put((frame.retain(), window, answer))

    def stop(self) -> None:
        """End the thread. No more frames may be offered."""
        self._ended.set()
        self._shadow.stop()
        self._frames.put(None)
        self._thread.join()
        while not self._frames.empty():
            if (work := self._frames.get()) is not None:
                work[0].release()

    def _run(self) -> None:
        pause, dropped = _PAUSE, self._dropped()
        while (work := self._frames.get()) is not None:
            frame, window, answer = work
            begin = time.monotonic()
            try:
                other, ms = self._shadow.serve(frame, window)
            except ModelError as error:
                if not self._ended.is_set():
                    self.error = error
                return
            self.agreements.append(agreement(answer, other))
            self.times_ms.append(ms)
            before, dropped = dropped, self._dropped()
            if dropped > before:
                pause = min(pause * _SLOWER, _MAX_PAUSE)
            self._ended.wait(pause * (time.monotonic() - begin))
            self._busy = False
