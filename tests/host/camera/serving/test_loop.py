"""Tests of the camera loop with a real runtime and a real model: which frames are served, counted, dropped and
released."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.serving.motion import MotionGate, MotionSettings
from arenite.host.camera.serving.result_cache import ResultCache
from arenite.host.camera.sources.base import EndOfSource, SourceCounters
from tests.host.camera.frames.photo_frames import photograph


class PictureSource:
    """A source of pictures in memory. ``held`` counts the frames that are not yet released, ``most_held`` is its
    maximum."""

    name = "recorded"
    live = False

    def __init__(self, pictures: list[np.ndarray], fps: float = 0.0) -> None:
        height, width = pictures[0].shape[:2]
        self.format = Format("rgb", width, height, (3 * width,), fps)
        self.pictures = pictures
        self.counters = SourceCounters()
        self.held = 0
        self.most_held = 0

    def open(self) -> Format:
        return self.format

    def read(self, timeout_s: float) -> Frame | None:
        number = self.counters.captured
        if number == len(self.pictures):
            raise EndOfSource
        self.counters.captured += 1
        self.held += 1
        self.most_held = max(self.most_held, self.held)
        picture = self.pictures[number]
        return Frame(self.format, (picture.ctypes.data,), picture, number, time.monotonic_ns(), self._back)

    def _back(self) -> None:
        self.held -= 1

    def set_rate(self, fps: float) -> float:
        return fps

    def close(self) -> None:
        pass


class FrameList:
    """A sink that keeps all served frames."""

    def __init__(self) -> None:
        self.served: list[ServedFrame] = []

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self.served.append(served)

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def server():
    """A server of a face detector with two sets of tensors."""
    model = open_model("blazeface")
    model_server = ModelServer(model, open_runtime(model.path, slots=2))
    yield model_server
    model_server.close()


def pictures(count: int, seed: int = 0) -> list[np.ndarray]:
    """Return pictures with random pixels."""
    random = np.random.default_rng(seed)
    return [random.integers(0, 256, (90, 160, 3), np.uint8) for _ in range(count)]


def test_every_frame_of_a_recording_is_served_and_released(server) -> None:
    source, sink = PictureSource(pictures(12)), FrameList()
    loop = Loop(source, server, sinks=[sink])
    loop.run()
    assert [served_frame.sequence for served_frame in sink.served] == list(range(12))
    assert [served_frame.number for served_frame in sink.served] == list(range(12))
    assert loop.served == loop.computed == 12
    assert source.held == 0 and source.most_held == 1
    for served_frame in sink.served:
        assert list(served_frame.spans) == ["capture", "preprocess", "invoke", "postprocess"]
        times = [t for span in served_frame.spans.values() for t in span]
        assert times == sorted(times)
    assert loop.bytes_written == 12 * server.bytes_written > 12 * 128 * 128 * 3 * 4


def test_overlap_gives_the_same_answers(server) -> None:
    answers = []
    for overlap in (False, True):
        source, sink = PictureSource(pictures(30, seed=3)), FrameList()
        loop = Loop(source, server, sinks=[sink], overlap=overlap)
        assert loop.overlap is overlap
        loop.run()
        assert source.held == 0 and source.most_held <= 3
        assert [served_frame.sequence for served_frame in sink.served] == list(range(30))
        answers.append([served_frame.answer for served_frame in sink.served])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("overlap", [False, True])
def test_the_loop_ends_after_the_given_number_of_frames(server, overlap: bool) -> None:
    source = PictureSource(pictures(20))
    loop = Loop(source, server, frames=7, overlap=overlap)
    loop.run()
    assert loop.served == 7 and source.held == 0


@pytest.mark.parametrize("overlap", [False, True])
def test_an_error_of_a_sink_ends_the_loop_and_leaks_no_frame(server, overlap: bool) -> None:
    class Broken(FrameList):
        def take(self, served: ServedFrame, frame: Frame | None) -> None:
            super().take(served, frame)
            if len(self.served) == 3:
                raise OSError("disk full")

    source = PictureSource(pictures(20))
    with pytest.raises(OSError, match="disk full"):
        Loop(source, server, sinks=[Broken()], overlap=overlap).run()
    assert source.held == 0


@pytest.mark.parametrize("overlap", [False, True])
def test_another_thread_stops_the_loop(server, overlap: bool) -> None:
    class FirstFrame(FrameList):
        def __init__(self) -> None:
            super().__init__()
            self.has_frames = threading.Event()

        def take(self, served: ServedFrame, frame: Frame | None) -> None:
            self.has_frames.set()

    source, sink = PictureSource(pictures(1) * 100_000), FirstFrame()
    loop = Loop(source, server, sinks=[sink], overlap=overlap)

    def stop() -> None:
        sink.has_frames.wait(60)
        loop.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    loop.run()
    thread.join()
    assert 0 < loop.served < 100_000 and source.held == 0


def test_a_slow_consumer_causes_no_queue(server) -> None:
    """With a camera of 200 frames per second and a consumer that takes 20 frames per second, the loop always serves the
    newest frame."""
    from arenite.host.camera.sources.factory import open_source

    class Slow(FrameList):
        def take(self, served: ServedFrame, frame: Frame | None) -> None:
            super().take(served, frame)
            time.sleep(0.05)

    source, sink = open_source("synthetic", width=160, height=96, fps=200), Slow()
    source.open()
    loop = Loop(source, server, sinks=[sink], frames=10)
    loop.run()
    source.close()
    gaps = np.diff([served_frame.sequence for served_frame in sink.served])
    assert gaps.min() > 1, "older frames were handed out"
    assert [served_frame.missed for served_frame in sink.served[1:]] == [gap - 1 for gap in gaps]
    assert source.counters.dropped == sum(served_frame.missed for served_frame in sink.served)


def test_frames_above_the_limit_are_late(server) -> None:
    for limit, late in ((1, 5), (10**12, 0)):
        loop = Loop(PictureSource(pictures(5)), server, late_ns=limit)
        loop.run()
        assert loop.late == late


def test_identical_frames_are_answered_from_the_cache(server) -> None:
    picture = pictures(1)[0]
    uncached: list[ServedFrame] = []
    cached: list[ServedFrame] = []
    for sink_list, cache in ((uncached, None), (cached, ResultCache())):
        sink = FrameList()
        Loop(PictureSource([picture] * 6), server, sinks=[sink], cache=cache).run()
        sink_list += sink.served
    assert [served_frame.by for served_frame in uncached] == ["model"] * 6
    # The cache stores the answer for an input when the input occurs a second time.
    assert [served_frame.by for served_frame in cached].count("cache") == 4
    assert [served_frame.answer for served_frame in cached] == [
        served_frame.answer for served_frame in uncached
    ]


def test_a_scene_without_motion_is_not_computed_again(server) -> None:
    picture = pictures(1)[0]
    sink = FrameList()
    loop = Loop(
        PictureSource([picture] * 30),
        server,
        sinks=[sink],
        motion=lambda: MotionGate(MotionSettings(hold_s=0.0)),
    )
    loop.run()
    assert sink.served[0].by == "model"
    assert [served_frame.by for served_frame in sink.served].count("motion") > 10
    assert loop.computed < 20
    assert all(served_frame.answer == sink.served[0].answer for served_frame in sink.served)


def test_stand_ins_are_not_computed_again(server) -> None:
    """A stand-in is the last frame of a camera that is late."""

    class EverySecondStandIn(PictureSource):
        def read(self, timeout_s: float) -> Frame | None:
            frame = super().read(timeout_s)
            assert frame is not None
            frame.stand_in = frame.sequence % 2 == 1
            return frame

    sink = FrameList()
    Loop(EverySecondStandIn(pictures(6)), server, sinks=[sink]).run()
    assert [served_frame.by for served_frame in sink.served] == ["model", "stand-in"] * 3


def test_a_still_frame_gets_the_answer_of_the_previous_frame(server) -> None:
    """The answer to a frame with motion is still being computed when the loop prepares the next frame, which has no
    motion."""

    class SlowServer:
        slots, name, bytes_written = server.slots, server.name, 0
        prepare, answer, input, model_of = server.prepare, server.answer, server.input, server.model_of

        @property
        def staged(self) -> SlowServer:
            return self

        def invoke(self, slot: int = 0) -> None:
            time.sleep(0.05)
            server.invoke(slot)

    grey, photo = np.full((360, 640, 3), 40, np.uint8), np.ascontiguousarray(photograph(0))
    scene_frames = [grey, grey, photo, photo, grey, grey, photo, photo]
    gate = MotionSettings(hold_s=0.0, refresh_s=1e6)
    for overlap in (False, True):
        sink = FrameList()
        source = PictureSource(scene_frames)
        Loop(source, SlowServer(), sinks=[sink], overlap=overlap, motion=lambda: MotionGate(gate)).run()  # type: ignore[arg-type]
        later = sink.served[2:]  # with overlap, the second frame arrives before any answer
        assert [served_frame.by for served_frame in later] == ["model", "motion"] * 3
        for moved, still in zip(later[::2], later[1::2], strict=True):
            assert still.answer is moved.answer
        assert [bool(served_frame.answer and served_frame.answer.boxes) for served_frame in sink.served] == [
            False,
            False,
            True,
            True,
        ] * 2


def test_a_model_group_gets_the_window_and_waits_for_motion(server) -> None:
    """A cascade or a group of models gets the window (the part of the frame to use), and runs only if something
    moved."""
    from arenite.host.camera.frames.frame import CropWindow
    from arenite.host.camera.several.pooled_server import ModelGroup

    photo = np.ascontiguousarray(photograph(0))
    source = PictureSource([photo] * 6)
    window = CropWindow(photo.shape[1] // 8, 0, photo.shape[1] * 3 // 4, photo.shape[0])
    alone = FrameList()
    Loop(source, server, sinks=[alone], frames=1, window=window).run()
    assert alone.served[0].answer is not None and alone.served[0].answer.boxes
    sink = FrameList()
    gate = MotionSettings(hold_s=0.0, refresh_s=1e6)
    loop = Loop(source, ModelGroup([server]), sinks=[sink], window=window, motion=lambda: MotionGate(gate))
    loop.run()
    assert [served_frame.by for served_frame in sink.served] == ["model"] + ["motion"] * 4
    assert all(served_frame.answer == alone.served[0].answer for served_frame in sink.served)
    assert list(sink.served[0].spans) == ["capture", "gate", "preprocess", "invoke", "postprocess"]
    assert loop.bytes_written == server.bytes_written


def test_a_repeated_answer_names_the_model_that_computed_it(server) -> None:
    """A cascade can end at a different model for each frame. A repeated answer names the model that computed it
    first."""
    from arenite.host.camera.several.cascade import Cascade, CascadeStage
    from arenite.host.camera.several.cascade_rules import LabelRule
    from tests.host.camera.serving.real_servers import server_of

    second_server = server_of("visual_wake_words")
    cascade = Cascade([CascadeStage(server, LabelRule((("face", 0.5),))), CascadeStage(second_server)])
    sink, gate = FrameList(), MotionSettings(hold_s=0.0, refresh_s=1e6)
    source = PictureSource([np.ascontiguousarray(photograph(0))] * 3)
    Loop(source, cascade, sinks=[sink], motion=lambda: MotionGate(gate)).run()
    assert [served_frame.by for served_frame in sink.served] == ["model", "motion", "motion"]
    assert {served_frame.model for served_frame in sink.served} == {second_server.name}
    second_server.close()


def test_a_lost_camera_adds_no_latency(server) -> None:
    """The time without a camera is not counted as latency. Otherwise the governor would slow down the other cameras."""

    class OneAway(PictureSource):
        """Two cameras. The second one is lost after its first frame, so its old frame stands in."""

        live = True

        def read(self, timeout_s: float) -> Frame | None:
            frame = super().read(timeout_s)
            assert frame is not None
            frame.source = frame.sequence % 2
            if frame.sequence > 2 and frame.source == 1:
                frame.stand_in = True
                frame.time_ns -= 60_000_000_000
            return frame

    loop = Loop(OneAway(pictures(12)), server, late_ns=10_000_000_000)
    loop.run()
    assert loop.late == 0
    window = loop.statistics.window("all")
    assert window.by == {"model": 7, "stand-in": 5}
    assert window.percentile_ms("age", 100) < 10_000  # type: ignore[operator]


def test_a_failing_release_ends_the_overlapped_loop(server) -> None:
    class Stuck(PictureSource):
        def _back(self) -> None:
            super()._back()
            if self.counters.captured > 3:
                raise OSError("no such device")

    source = Stuck(pictures(1) * 1000)
    with pytest.raises(OSError, match="no such device"):
        Loop(source, server, overlap=True).run()


def test_the_loop_rests_between_frames(server) -> None:
    rests = iter([0.0, 0.1, 0.0])
    loop = Loop(PictureSource(pictures(3)), server, rest_before_frame=lambda: next(rests, 0.0))
    loop.run()
    assert loop.seconds >= 0.1


@pytest.mark.slow
def test_overlapped_frames_of_a_slow_model_are_not_prepared_too_early(server) -> None:
    """The camera delivers 100 frames per second and the model processes 4. A frame that is prepared at once would
    have to wait until the model is free, and be old by then."""
    from arenite.host.camera.sources.factory import open_source

    class SlowServer:
        slots, name, bytes_written = server.slots, server.name, 0
        prepare, answer, input, model_of = server.prepare, server.answer, server.input, server.model_of

        @property
        def staged(self) -> SlowServer:
            return self

        def invoke(self, slot: int = 0) -> None:
            time.sleep(0.25)
            server.invoke(slot)

    source, sink = open_source("synthetic", width=160, height=96, fps=100), FrameList()
    source.open()
    Loop(source, SlowServer(), sinks=[sink], overlap=True, frames=9).run()  # type: ignore[arg-type]
    source.close()
    waits = [served_frame.spans["invoke"][0] - served_frame.time_ns for served_frame in sink.served[3:]]
    assert np.median(waits) < 125e6, "an invoke takes 250 ms"
