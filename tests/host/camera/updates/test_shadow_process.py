"""A model in a process of its own gives the same answers, and its end is an error with a sentence."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import ModelError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.updates.frame_pipe import FrameReceiver, plane_sizes, send_frame
from arenite.host.camera.updates.shadow_process import ShadowProcess
from arenite.host.camera.updates.shadow_run import ShadowRun
from tests.host.camera.frames.photo_frames import frame_of, photograph
from tests.host.camera.serving.real_servers import server_of
from tests.host.camera.updates.runs import copy_of

MODEL = "visual_wake_words"


@pytest.mark.parametrize(
    "format",
    [
        Format("yuyv", 64, 48, (128,)),
        Format("rgb", 640, 480, (1920,)),
        Format("nv12", 64, 48, (64, 64)),
        Format("grey", 64, 48, (80,)),
    ],
)
def test_frames_pass_through_a_pipe(format: Format) -> None:
    random = np.random.default_rng(1)
    planes = [random.integers(0, 256, size, np.uint8) for size in plane_sizes(format)]
    frame = Frame(format, tuple(plane.ctypes.data for plane in planes), planes, 0, 0)
    reading, writing = os.pipe()
    window = CropWindow(1, 2, 3, 4)

    def send() -> None:
        with os.fdopen(writing, "wb") as pipe:
            for _ in range(2):
                send_frame(pipe, frame, window)

    sender = threading.Thread(target=send)
    sender.start()
    with os.fdopen(reading, "rb") as pipe:
        receiver = FrameReceiver(pipe)
        for _ in range(2):
            received, received_window = receiver.read()
            assert received.format == format and received_window == window
            for k, plane in enumerate(planes):
                assert received.rows(k).tobytes() == plane.tobytes()
        with pytest.raises(EOFError):
            receiver.read()
    sender.join()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ShadowProcess]:
    path = copy_of(MODEL, tmp_path / "detector.tflite")
    server = server_of(path)
    server.close()
    frame = frame_of(photograph(2))
    options = CameraOptions.of(model=str(path))
    yield ShadowProcess("detector", options, server.model, 1, frame.format, None)


@pytest.mark.slow
def test_answers_are_those_of_the_model(process: ShadowProcess) -> None:
    server, returned = server_of(MODEL), list[int]()
    frame = frame_of(photograph(2))
    expected = server.serve(frame).answer
    server.close()
    held = Frame(frame.format, frame.planes, frame.owner, 0, 0, lambda: returned.append(1))
    with process:
        assert process.facts["kind"] == "classes" and not process.facts["keeps_state"]
        answer, ms = process.serve(held, None)
    assert answer == expected and ms > 0 and returned == [1]


@pytest.mark.slow
def test_a_process_that_ends_is_an_error(process: ShadowProcess) -> None:
    frame = frame_of(photograph(2))
    with process:
        assert process._child is not None
        process._child.kill()
        with pytest.raises(ModelError, match=r"crashed \(SIGKILL\) in its own process"):
            process.serve(frame, None)
    with pytest.raises(ModelError, match="was stopped"):
        process.stop()
        process._log = tempfile.TemporaryFile()  # noqa: SIM115
        process.open()
    process.close()


@pytest.mark.slow
def test_every_frame_of_a_shadow_run_is_returned(process: ShadowProcess) -> None:
    frame, returned = frame_of(photograph(2)), list[int]()
    server = server_of(MODEL)
    answer = server.serve(frame).answer
    server.close()
    assert answer is not None
    with process:
        run = ShadowRun(process, MODEL, lambda: 0)
        compared = threading.Event()
        for number in range(100_000):
            held = Frame(frame.format, frame.planes, frame.owner, 0, 0, partial(returned.append, number))
            run.offer(held, None, answer, MODEL)
            run.offer(held, None, Answer("classes"), "another model")  # is not compared
            held.release()
            if len(run.agreements) >= 3:
                break
            compared.wait(0.001)
        run.stop()
    assert run.error is None and run.agreements[:3] == [1.0] * 3
    assert sorted(returned) == list(range(number + 1))
