"""The system under test of a scenario: a server, and the frames in memory that are the samples of its queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Protocol

from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.serving.frame_server import FrameServer

#: The samples of one query whose times are recorded: the first eight samples, and every 64th sample.
_FIRST, _EVERY = 8, 64


class System(Protocol):
    """Answers the queries of a scenario. A query consists of samples. A sample is one frame, which the system
    preprocesses, runs the model on and answers."""

    @property
    def samples(self) -> int: ...

    def serve(self, samples: Sequence[int]) -> None:
        """Answer one query. ``samples`` has the indices of its samples, which may be served in any order. Return when
        the last answer is complete."""
        ...

    def between_queries(self) -> None:
        """Do the work that is left to do between two queries. Its time is not measured."""
        ...


class Clock(Protocol):
    """A monotonic clock in ns."""

    def now(self) -> int: ...
    def sleep_until(self, at: int) -> None: ...


class WallClock:
    """The computer's monotonic clock. ``sleep_until`` spins for the last ``spin_ns``, because a sleep ends up to 0.1 ms
    late."""

    spin_ns = 150_000

    def now(self) -> int:
        return time.monotonic_ns()

    def sleep_until(self, at: int) -> None:
        remaining_ns = at - time.monotonic_ns() - self.spin_ns
        if remaining_ns > 0:
            time.sleep(remaining_ns / 1e9)
        while time.monotonic_ns() < at:
            pass


class FrameSystem:
    """The ``System`` that runs ``server`` on ``frames``. The caller keeps the frames and must not release them
    while this object is in use. No cache and no motion gate is used, because the rules do not allow answers to be
    reused.

    If the server has two slots or more, the next sample of a query is prepared while the model runs. ``window`` is the
    part of each frame that the model gets. ``between_queries`` calls ``record`` with the recorded samples and their
    times: all samples of short queries, but only the first eight and every 64th sample of long queries. Use this class
    as a context manager.
    """

    def __init__(
        self,
        server: FrameServer,
        frames: Sequence[Frame],
        record: Callable[[ServedFrame], None] | None = None,
        window: CropWindow | None = None,
    ) -> None:
        self._server, self._window = server, window
        self._frames = list(frames)
        self._staged = server.staged if server.slots > 1 else None
        self.overlap = self._staged is not None
        self._record = record
        self._served: list[ServedFrame] = []
        self._queued: SimpleQueue[_Work | None] = SimpleQueue()
        self._computed: SimpleQueue[_Work] = SimpleQueue()
        self._worker: threading.Thread | None = None

    def __enter__(self) -> FrameSystem:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._queued.put(None)
            self._worker.join()
            self._worker = None

    @property
    def samples(self) -> int:
        return len(self._frames)

    def serve(self, samples: Sequence[int]) -> None:
        if len(samples) > 1 and self.overlap:
            self._serve_overlapped(samples)
            return
        server, frames, served = self._server, self._frames, self._served
        for number, sample in enumerate(samples):
            answered = server.serve(frames[sample], 0, self._window)
            if number % _EVERY == 0 or number < _FIRST:
                served.append(answered)

    def between_queries(self) -> None:
        """Call ``record`` with the recorded samples. This time is between queries and not measured."""
        if self._record is not None:
            for served in self._served:
                # The frame was captured long ago, so its age is counted from the start of its first stage.
                served.time_ns = min(begin for begin, _ in served.spans.values())
                self._record(served)
        self._served.clear()

    def warm_up(self, queries: int = 10) -> None:
        """Serve some queries before the measurement, as the rules allow."""
        for number in range(queries):
            # A query of two samples is served by the overlapped code.
            self.serve([number % len(self._frames)] * (2 if self.overlap else 1))
        self._served.clear()

    def _serve_overlapped(self, samples: Sequence[int]) -> None:
        if self._worker is None:
            self._worker = threading.Thread(target=self._compute, name="scenario", daemon=True)
            self._worker.start()
        server, clock = self._staged, time.monotonic_ns
        assert server is not None
        free = list(range(server.slots))
        for number, sample in enumerate(samples):
            if not free:
                free.append(self._finish())
            work = _Work(free.pop(), self._frames[sample], number % _EVERY == 0 or number < _FIRST)
            begin = clock()
            server.prepare(work.frame, work.slot, self._window)
            work.spans["preprocess"] = (begin, clock())
            self._queued.put(work)
        for _ in range(server.slots - len(free)):
            self._finish()

    def _finish(self) -> int:
        """Wait until the model has run on a sample, read the answer, and return the slot, which is free again."""
        work = self._computed.get()
        if work.error is not None:
            raise work.error
        assert self._staged is not None
        begin = time.monotonic_ns()
        answer = self._staged.answer(work.slot)
        if work.recorded:
            work.spans["postprocess"] = (begin, time.monotonic_ns())
            frame = work.frame
            self._served.append(
                ServedFrame(
                    0,
                    frame.source,
                    frame.sequence,
                    frame.time_ns,
                    work.spans,
                    answer,
                    model=self._server.name,
                )
            )
        return work.slot

    def _compute(self) -> None:
        server, clock = self._staged, time.monotonic_ns
        assert server is not None
        while (work := self._queued.get()) is not None:
            begin = clock()
            try:
                server.invoke(work.slot)
            except Exception as error:
                work.error = error
            work.spans["invoke"] = (begin, clock())
            self._computed.put(work)


class _Work:
    """A sample in progress. ``recorded`` says whether its times are recorded."""

    __slots__ = ("error", "frame", "recorded", "slot", "spans")

    def __init__(self, slot: int, frame: Frame, recorded: bool) -> None:
        self.slot, self.frame, self.recorded = slot, frame, recorded
        self.spans: dict[str, tuple[int, int]] = {}
        self.error: Exception | None = None


#: A function that is called with sentences about the progress of a scenario.
ProgressReport = Callable[[str], None]
