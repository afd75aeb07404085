"""The camera loop on the frames of the ring."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.sources.base import Source
from benchmarks.camera.cases import Case
from benchmarks.camera.frame_ring import FrameRing
from benchmarks.camera.interruptions import Interruptions
from benchmarks.camera.pictures import HEIGHT, RING, WIDTH, Picture


@dataclass
class LoopTimes:
    """Per frame, in ns. ``whole``: from one answer to the next with nothing to wait for, so all that the loop does is
    in it; ``stages``: of the loop's own record."""

    whole: list[int] = field(default_factory=list)
    stages: dict[str, list[int]] = field(default_factory=dict)
    totals: list[int] = field(default_factory=list)  # from the first stage's beginning to the last one's end

    def besides_invoke(self) -> list[int]:
        return [whole - invoke for whole, invoke in zip(self.whole, self.stages["invoke"], strict=True)]


class _Clock:
    """The sink that stamps each answer. The first frame of a run starts the clock and is not counted, nor is one that
    was interrupted, unless ``all_frames``."""

    def __init__(self, times: LoopTimes, all_frames: bool) -> None:
        self.times, self.last, self.all_frames = times, 0, all_frames
        self.interruptions = Interruptions()
        self.answers: list[Answer | None] = []

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        now = time.perf_counter_ns()
        undisturbed = not self.interruptions.happened()
        if self.last and (undisturbed or self.all_frames):
            self.times.whole.append(now - self.last)
            for name, (begin, end) in served.spans.items():
                self.times.stages.setdefault(name, []).append(end - begin)
            self.times.totals.append(served.total_ns)
        self.answers.append(served.answer)
        self.last = time.perf_counter_ns()

    def close(self) -> None:
        pass


class AreniteLoop:
    """``run`` appends to ``times``; the model stays open. Use as a context manager."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.model = open_model(case.model_argument())
        self.runtime = open_runtime(self.model.path, threads=1)
        self.server = ModelServer(self.model, self.runtime)
        self.times = LoopTimes()

    def __enter__(self) -> AreniteLoop:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    def run(
        self,
        frames: int,
        fps: float | None = None,
        times: LoopTimes | None = None,
        buffers: int = RING,
        all_frames: bool = False,
        source: Source | None = None,
    ) -> list[Answer | None]:
        """``frames`` after one that is never counted; those that were interrupted only with ``all_frames``. Returns all
        answers, of the ring's frames in order, or of ``source`` instead."""
        source = source or FrameRing(fps, buffers)
        source.open()
        clock = _Clock(self.times if times is None else times, all_frames)
        try:
            Loop(source, self.server, sinks=(clock,), frames=frames + 1).run()
        finally:
            source.close()
        return clock.answers

    def answer(self, picture: Picture) -> Answer:
        """Return the answer of one picture, outside the loop."""
        format = Format("yuyv", WIDTH, HEIGHT, (2 * WIDTH,))
        answer = self.server.serve(Frame(format, (picture.yuyv.ctypes.data,), picture, 0, 0)).answer
        assert answer is not None
        return answer
