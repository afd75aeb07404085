"""Run Arenite's camera loop on the frames of the benchmark's ring of buffers, and measure its times."""

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
    """The times of each frame in nanoseconds.

    ``frame_ns`` has the times from one answer to the next. The loop does not wait in between, so these times contain
    all of its work. ``stages`` has the times that the loop itself records, by the name of the stage."""

    frame_ns: list[int] = field(default_factory=list)
    stages: dict[str, list[int]] = field(default_factory=dict)
    #: From the start of the first stage to the end of the last stage.
    all_stages_ns: list[int] = field(default_factory=list)

    def overhead_ns(self) -> list[int]:
        return [total - invoke for total, invoke in zip(self.frame_ns, self.stages["invoke"], strict=True)]


class _Clock:
    """A sink of the camera loop that records the time of each answer. The first frame of a run starts the clock and is
    not counted. A frame during which the thread was interrupted is counted only if ``all_frames`` is true."""

    def __init__(self, times: LoopTimes, all_frames: bool) -> None:
        self.times, self.last, self.all_frames = times, 0, all_frames
        self.interruptions = Interruptions()
        self.answers: list[Answer | None] = []

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        now = time.perf_counter_ns()
        undisturbed = not self.interruptions.happened()
        if self.last and (undisturbed or self.all_frames):
            self.times.frame_ns.append(now - self.last)
            for name, (begin, end) in served.spans.items():
                self.times.stages.setdefault(name, []).append(end - begin)
            self.times.all_stages_ns.append(served.total_ns)
        self.answers.append(served.answer)
        self.last = time.perf_counter_ns()

    def close(self) -> None:
        pass


class AreniteLoop:
    """The camera loop with one open model, as a context manager. ``run`` appends its measurements to ``times``."""

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
        """Run the loop and return all answers.

        Args:
            frames: the number of frames, after a first frame that is never counted.
            fps: the frame rate of the ring; None: as fast as the loop takes frames.
            times: the object to which the times are appended; None: ``self.times``.
            buffers: the number of buffers in the ring.
            all_frames: also count frames during which the thread was interrupted.
            source: the source of frames; None: the ring.
        """
        source = source or FrameRing(fps, buffers)
        source.open()
        clock = _Clock(self.times if times is None else times, all_frames)
        try:
            Loop(source, self.server, sinks=(clock,), frames=frames + 1).run()
        finally:
            source.close()
        return clock.answers

    def answer(self, picture: Picture) -> Answer:
        """Return the model's answer to one picture, outside the loop."""
        format = Format("yuyv", WIDTH, HEIGHT, (2 * WIDTH,))
        answer = self.server.serve(Frame(format, (picture.yuyv.ctypes.data,), picture, 0, 0)).answer
        assert answer is not None
        return answer
