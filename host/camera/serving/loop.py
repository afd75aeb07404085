"""The loop: take a source's newest frame, serve it, and pass the answer to the sinks.

Frames are served in sequence or overlapped. In sequence, one thread runs all stages, which gives the shortest time from
a frame to its answer. If frames overlap, the first thread reads and prepares frames, a second thread runs the model,
and a third thread reads answers and calls the sinks. The slots of the server limit the frames in progress. Further
frames wait in the camera, where the newest frame replaces older frames.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.frames.served_frame import ServedFrame, Sink
from arenite.host.camera.observe.busy_time import BusyTime
from arenite.host.camera.observe.statistics import Statistics
from arenite.host.camera.serving.frame_server import FrameServer
from arenite.host.camera.serving.realtime import freeze_garbage_collector
from arenite.host.camera.sources.base import EndOfSource, FrameReader, Source

if TYPE_CHECKING:
    from arenite.host.camera.serving.motion import MotionGate
    from arenite.host.camera.serving.result_cache import ResultCache

#: The time that a read waits for a frame before the loop checks whether it should end.
READ_S = 0.25


class _FrameJob:
    """A frame in progress. ``spans``, ``answer`` and ``by`` are those of its ``ServedFrame``; ``slot`` is the slot of
    the server."""

    __slots__ = ("answer", "by", "frame", "is_repeat", "slot", "spans")

    def __init__(self, frame: Frame, slot: int) -> None:
        self.frame, self.slot = frame, slot
        self.spans: dict[str, tuple[int, int]] = {}
        self.answer: Answer | None = None
        self.by = "model"
        self.is_repeat = False  # whether the previous answer is repeated and no model runs

    def release_frame(self) -> None:
        self.frame.release()


class Loop:
    """Serves frames. ``run`` returns at a limit, at the end of the source, or after ``stop``.

    Args:
        source: an open source.
        sinks: receive every served frame.
        motion: creates a motion gate; each camera has its own. None: the model runs on every frame.
        cache: stores answers to identical inputs; None for no cache.
        overlap: whether frames overlap. This needs a staged server with several slots.
        frames: the number of answers after which the loop ends.
        duration_s: the time in seconds after which the loop ends.
        late_ns: an answer is late if its age in nanoseconds is above this limit. None means the time between two frames
            of a live source.
        window: the part of the frame that the model gets; None for the whole frame.
        on_first_answer: called once, after the first answer.
        frame_reader: reads the frames of ``source``, such as an ``EarlyWake``; None: ``source`` itself.
        rest_before_frame: called before each frame; returns how many seconds the loop must rest first. It belongs to a
            lever of the governor.
        on_thread_start: called at the start of each additional thread that serves frames.
    """

    def __init__(
        self,
        source: Source,
        server: FrameServer,
        *,
        sinks: Sequence[Sink] = (),
        motion: Callable[[], MotionGate] | None = None,
        cache: ResultCache | None = None,
        overlap: bool = False,
        frames: int | None = None,
        duration_s: float | None = None,
        late_ns: int | None = None,
        window: CropWindow | None = None,
        on_first_answer: Callable[[], None] | None = None,
        frame_reader: FrameReader | None = None,
        rest_before_frame: Callable[[], float] | None = None,
        on_thread_start: Callable[[], None] = lambda: None,
    ) -> None:
        self.source, self.server = source, server
        self.sinks = list(sinks)
        self.cache, self.window = cache, window
        self._make_gate = motion
        self._gates: dict[int, MotionGate] = {}  # the gate of each camera
        self.staged = server.staged
        self.overlap = overlap and self.staged is not None and server.slots > 1
        self.frames, self.duration_s, self.late_ns = frames, duration_s, late_ns
        self.statistics = Statistics()
        self.served = 0
        self.late = 0
        self.busy = BusyTime()  # time in which at least one stage worked, without waits
        self.computed = 0  # number of answers that the model computed
        self.bytes_written = 0  # bytes that the loop's own code wrote since it began
        self.began_ns = 0
        self.ended_ns = 0
        self.last: dict[int, Answer] = {}  # the last answer of each camera
        self._last_model: dict[int, str] = {}  # the model that computed the last answer of each camera
        self._reader: FrameReader = source if frame_reader is None else frame_reader
        self._on_first_answer, self.rest_before_frame = on_first_answer, rest_before_frame
        self._on_thread_start = on_thread_start
        self._frame_ns = 0  # time between two frames of the camera
        self._prepare_ns = self._invoke_ns = 0  # durations of the last preparation and invocation
        self._computing_since = 0  # start of the present invocation; 0 if there is none
        self._stop = threading.Event()
        self._error: BaseException | None = None

    def stop(self) -> None:
        """End the loop after the frame in progress. Any thread may call it."""
        self._stop.set()

    def run(self) -> None:
        """Serve frames until the loop ends. The source stays open. An exception of the source, the server or a sink
        ends the loop and is raised again."""
        self.begin()
        freeze_garbage_collector()
        try:
            if self.overlap:
                self._run_overlapped()
            else:
                self._run_in_sequence()
        finally:
            gc.unfreeze()
            self.end()
        if self._error is not None:
            raise self._error

    def begin(self) -> None:
        self.began_ns = time.monotonic_ns()

    def end(self, served: int = 0) -> None:
        """End the measurement. ``served`` is the number of frames that were served outside of ``run``."""
        self.served += served
        self.computed += served
        self.ended_ns = time.monotonic_ns()

    @property
    def seconds(self) -> float:
        return ((self.ended_ns or time.monotonic_ns()) - self.began_ns) / 1e9

    @property
    def duty_cycle(self) -> float:
        """The share of the time in which at least one stage worked, 0 to 1."""
        return min(self.busy.ns / 1e9 / self.seconds, 1.0) if self.seconds else 0.0

    # In sequence

    def _run_in_sequence(self) -> None:
        while not self._is_done(self.served):
            frame, begin = self._next_frame()
            if frame is None:
                continue
            try:
                work = self._new_job(frame, begin, 0)
                self._prepare(work)
                if self.staged is not None:
                    self._invoke(work)
                self._finish(work)
            finally:
                frame.release()

    # Overlapped

    def _run_overlapped(self) -> None:
        free: SimpleQueue[int] = SimpleQueue()
        for slot in range(self.server.slots):
            free.put(slot)
        ready: SimpleQueue[_FrameJob | None] = SimpleQueue()
        computed: SimpleQueue[_FrameJob | None] = SimpleQueue()

        def compute() -> None:
            self._guard(self._on_thread_start)
            while (work := ready.get()) is not None:
                self._guard(self._invoke, work)
                computed.put(work)
            computed.put(None)

        def answer() -> None:
            self._guard(self._on_thread_start)
            while (work := computed.get()) is not None:
                if self._error is None:
                    self._guard(self._finish, work)
                # Release the frame before the slot, because a camera has few buffers.
                self._guard(_FrameJob.release_frame, work)
                free.put(work.slot)

        threads = [threading.Thread(target=f, name=f.__name__, daemon=True) for f in (compute, answer)]
        for thread in threads:
            thread.start()
        begun = 0
        try:
            while not self._is_done(begun):
                slot = free.get()
                self._wait_for_invoke()
                frame, begin = self._next_frame()
                if frame is None:
                    free.put(slot)
                    continue
                try:
                    work = self._new_job(frame, begin, slot)
                    self._prepare(work)
                except BaseException:
                    frame.release()
                    raise
                begun += 1
                ready.put(work)
        finally:
            ready.put(None)
            for thread in threads:
                thread.join()

    def _guard(self, step: Callable[..., None], *work: _FrameJob) -> None:
        """Call ``step`` in a thread. If it raises an error, the loop ends and ``run`` raises the error."""
        try:
            step(*work)
        except BaseException as error:
            self._error = self._error or error
            self._stop.set()

    # Stages

    def _is_done(self, count: int) -> bool:
        return (
            self._stop.is_set()
            or (self.frames is not None and count >= self.frames)
            or (self.duration_s is not None and time.monotonic_ns() - self.began_ns > self.duration_s * 1e9)
        )

    def _next_frame(self) -> tuple[Frame | None, int]:
        """Return the newest frame, or None if there is none yet, and the time at which it was requested."""
        if self.rest_before_frame is not None and (rest := self.rest_before_frame()) > 0:
            self._stop.wait(rest)
        begin = time.monotonic_ns()
        try:
            return self._reader.read(READ_S), begin
        except EndOfSource:
            self._stop.set()
            return None, begin

    def _wait_for_invoke(self) -> None:
        """If the camera is faster than the model, wait, so that the preparation of the next frame ends just when the
        model can run again. A frame that is prepared earlier would only become older."""
        since, frame_ns = self._computing_since, self._frame_ns
        if since and frame_ns and self.source.live:
            ahead = since + self._invoke_ns - self._prepare_ns - frame_ns - time.monotonic_ns()
            if ahead > 0:
                self._stop.wait(ahead / 1e9)

    def _new_job(self, frame: Frame, begin: int, slot: int) -> _FrameJob:
        """Return a new job. Its stage ``capture`` begins at the capture or at the request ``begin``, whichever is
        later, because waiting for the camera is not work."""
        now = time.monotonic_ns()
        fps = frame.format.fps
        self._frame_ns = int(1e9 / fps) if fps else 0
        work = _FrameJob(frame, slot)
        work.spans["capture"] = (min(max(begin, frame.time_ns), now), now)
        return work

    def _prepare(self, work: _FrameJob) -> None:
        """Decide whether a model has to run, and preprocess the frame. A server without stages does the preprocessing
        in ``serve``."""
        begin = time.monotonic_ns()
        if work.frame.stand_in and work.frame.source in self.last:
            work.is_repeat, work.by = True, "stand-in"
        elif self._make_gate is not None and not self._must_run(work.frame):
            # The previous frame may still be in progress, so its answer is repeated later, in ``_finish``.
            work.is_repeat, work.by = True, "motion"
        elif self.staged is not None:
            self.staged.prepare(work.frame, work.slot, self.window)
            self.bytes_written += self.staged.bytes_written
        elif self._make_gate is None:
            return
        now = time.monotonic_ns()
        work.spans["preprocess"] = (begin, now)
        self._prepare_ns = now - begin

    def _must_run(self, frame: Frame) -> bool:
        gate = self._gates.get(frame.source)
        if gate is None:
            assert self._make_gate is not None
            gate = self._gates[frame.source] = self._make_gate()
        # The gate gets every frame, including those before the first answer.
        return gate.must_run(frame) or frame.source not in self.last

    def _invoke(self, work: _FrameJob) -> None:
        if work.is_repeat:
            return
        server, slot = self.staged, work.slot
        assert server is not None
        begin = time.monotonic_ns()
        if self.cache is not None:
            key = (server.model_of(slot), work.frame.format, self.window)
            work.answer = self.cache.find(server.input(slot), key, slot)
            now = time.monotonic_ns()
            work.spans["cache"], begin = (begin, now), now
            if work.answer is not None:
                work.by = "cache"
                return
        self._computing_since = begin
        server.invoke(slot)
        now = time.monotonic_ns()
        self._computing_since = 0
        self._invoke_ns = now - begin
        work.spans["invoke"] = (begin, now)
        if self.cache is not None:
            # Only this thread may use the cache, so the answer is read and stored here.
            self._read_answer(work)
            assert work.answer is not None
            self.cache.keep(work.answer, slot)

    def _read_answer(self, work: _FrameJob) -> None:
        assert self.staged is not None
        begin = time.monotonic_ns()
        work.answer = self.staged.answer(work.slot)
        work.spans["postprocess"] = (begin, time.monotonic_ns())

    def _finish(self, work: _FrameJob) -> None:
        """Read the answer, count the frame, and call the sinks."""
        if self.staged is not None or work.is_repeat:
            served = self._to_served_frame(work)
        else:
            served = self._serve_at_once(work)
        served.number = self.served
        late_ns = self.late_ns
        if late_ns is None and self.source.live:
            late_ns = self._frame_ns or None
        # A repeated frame is old because its camera is late, and not because the loop is slow.
        served.late = late_ns is not None and not work.frame.stand_in and served.age_ns > late_ns
        self.served += 1
        self.late += served.late
        self.computed += served.by == "model"
        for span in served.spans.values():
            self.busy.add(*span)
        if served.answer is not None:
            self.last[work.frame.source] = served.answer
            self._last_model[work.frame.source] = served.model
        self.statistics.add(served)
        if self._on_first_answer is not None:
            self._on_first_answer()
            self._on_first_answer = None
        for sink in self.sinks:
            sink.take(served, work.frame)

    def _serve_at_once(self, work: _FrameJob) -> ServedFrame:
        """Serve the frame in one call, with a server that has no stages."""
        served = self.server.serve(work.frame, 0, self.window)
        self.bytes_written += self.server.bytes_written
        if "preprocess" in work.spans:  # here this is the time of the motion gate
            work.spans["gate"] = work.spans.pop("preprocess")
        served.spans = work.spans | served.spans
        return served

    def _to_served_frame(self, work: _FrameJob) -> ServedFrame:
        """Return the record of the frame. Read its answer first, or repeat the camera's last answer."""
        frame = work.frame
        if work.is_repeat:
            work.answer, model = self.last[frame.source], self._last_model[frame.source]
        else:
            if work.answer is None:
                self._read_answer(work)
            assert self.staged is not None
            model = self.staged.model_of(work.slot)
        return ServedFrame(
            self.served,
            frame.source,
            frame.sequence,
            frame.time_ns,
            work.spans,
            work.answer,
            by=work.by,
            model=model,
            missed=frame.missed,
            width=frame.format.width,
            height=frame.format.height,
        )
