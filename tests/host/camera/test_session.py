"""Tests of ``CameraSession``: sources, runtimes and threads of a session, and the stream of its answers."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from arenite.errors import ProfileError
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.serving.realtime import normal_priority
from arenite.host.camera.session import CameraSession
from arenite.host.camera.source_setup import sufficient_size
from arenite.host.camera.sources.base import Source
from arenite.host.camera.sources.factory import open_source


@pytest.fixture(scope="module")
def model() -> CameraModel:
    return open_model("blazeface")


def test_jpeg_is_decoded_large_enough_for_every_model(model: CameraModel) -> None:
    larger = replace(model, inputs=(replace(model.inputs[0], shape=(1, 200, 160, 3)),))
    assert sufficient_size([model]) == (128, 128)
    assert sufficient_size([model, larger]) == (160, 200)
    channels_first = replace(model, inputs=(replace(model.inputs[0], shape=(1, 3, 200, 160)),))
    assert sufficient_size([channels_first]) == (160, 200)


def test_jpeg_is_decoded_in_full_size_if_a_model_crops_the_frame(
    model: CameraModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    crop = CropWindow(0, 0, 64, 64)
    sizes: list[tuple[int, int] | None] = []

    def recorded(spec: str, *, min_size: tuple[int, int] | None, **options: Any) -> Source:
        sizes.append(min_size)
        return open_source(spec, min_size=min_size, **options)

    monkeypatch.setattr("arenite.host.camera.source_setup.open_source", recorded)
    for window in (None, crop):
        with CameraSession(CameraOptions.of(sources=("synthetic",), frames=1, window=window)):
            pass
    assert sizes == [sufficient_size([model]), None]


@pytest.mark.parametrize(("overlap", "slots"), [(None, 1), (True, 2)])
def test_a_copying_runtime_has_one_slot_unless_frames_overlap(overlap: bool | None, slots: int) -> None:
    options = CameraOptions.of(
        sources=("synthetic",), runtime="litert-interpreter", overlap=overlap, frames=3
    )
    with CameraSession(options) as session:
        record = session.run().to_json()
    assert session.servers.server.slots == slots
    assert any("copied once each" in note for note in record["notes"]) == (slots == 2)
    assert record["frames"]["served"] == 3 and record["overlapped"] == (slots == 2)


@pytest.mark.slow
def test_a_reconnecting_camera_is_reported_and_notes_are_limited() -> None:
    """A pipeline ends after six pictures and is reopened each time."""
    if shutil.which("gst-launch-1.0") is None:
        pytest.skip("gst-launch-1.0 is not installed")
    reported: list[str] = []
    options = CameraOptions.of(sources=("gst:videotestsrc num-buffers=6",), frames=10)
    with CameraSession(options, reported.append) as session:
        result = session.run()
        assert (
            reported[:2]
            == [note for note in result.notes if "Reconnecting" in note or "is back" in note][:2]
            != []
        )
        for number in range(1000):
            session._on_source_message(f"It is back: {number}.")
    # The first and the newest notes are kept.
    assert len(session.notes) == 60 and session.notes[0] == result.notes[0]
    assert session.notes[-1] == "It is back: 999."


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="needs real-time priorities")
def test_every_thread_of_the_loop_has_the_priority() -> None:
    threads: dict[int, int] = {}

    class Look:
        def take(self, served: ServedFrame, frame: Frame | None) -> None:
            for thread in threading.enumerate():
                # A thread that another test left may end meanwhile.
                with contextlib.suppress(ProcessLookupError):
                    if thread.native_id is not None:
                        policy = os.sched_getscheduler(thread.native_id) & ~os.SCHED_RESET_ON_FORK
                        threads[thread.native_id], names[thread.native_id] = policy, thread.name

        def close(self) -> None:
            pass

    names: dict[int, str] = {}
    policy_before = os.sched_getscheduler(0)
    options = CameraOptions.of(sources=("synthetic",), realtime=5, overlap=True, frames=3)
    try:
        with CameraSession(options) as session:
            if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != os.SCHED_FIFO:
                pytest.skip("SCHED_FIFO is not granted")
            session.loop.sinks.append(Look())
            session.run()
    finally:
        normal_priority()
    assert os.sched_getscheduler(0) == policy_before
    fifo = {names[thread] for thread, policy in threads.items() if policy == os.SCHED_FIFO}
    assert fifo == {"MainThread", "compute", "answer"}


def test_a_stream_of_a_recording_yields_every_frame_and_has_a_result() -> None:
    options = CameraOptions.of(sources=("synthetic",), pace="file", frames=30)
    with CameraSession(options) as session:
        numbers = []
        for served in session.stream():
            assert served.answer is not None
            numbers.append(served.number)
            time.sleep(0.01)  # slower than the loop
    assert numbers == list(range(30)) and session.missed == 0
    assert session.result is not None and session.result.frames.served == 30


def test_leaving_a_stream_stops_the_loop() -> None:
    with CameraSession(CameraOptions.of(sources=("synthetic",))) as session:
        for served in session.stream():
            if served.number >= 2:  # on a busy computer, the stream may leave out frames
                break
        assert session.result is not None and session.result.frames.served >= 3
        assert "camera" not in {thread.name for thread in threading.enumerate()}


def test_leaving_the_session_ends_its_stream() -> None:
    with CameraSession(CameraOptions.of(sources=("synthetic",), pace="file")) as session:
        stream = session.stream()
        assert next(stream).number == 0
    assert "camera" not in {thread.name for thread in threading.enumerate()}
    assert session.result is not None


def test_a_slow_consumer_misses_the_oldest_answers() -> None:
    with CameraSession(CameraOptions.of(sources=("synthetic",), fps=100, frames=60)) as session:
        numbers, end = [], time.monotonic() + 60
        for served in session.stream():
            numbers.append(served.number)
            # After the first answer, wait until more frames were served than the stream keeps.
            while len(numbers) == 1 and session.loop.served < 20:
                assert time.monotonic() < end, "fewer than 20 frames in a minute"
                time.sleep(0.005)
    assert numbers == sorted(set(numbers)) and numbers[-1] == 59
    assert session.missed == 60 - len(numbers) > 0


def test_an_error_of_the_loop_is_raised_by_the_stream() -> None:
    options = CameraOptions.of(sources=("synthetic",), host="nothing")
    with CameraSession(options) as session, pytest.raises(ProfileError, match="nothing"):
        for served in session.stream():
            assert served.answer is not None


def test_options_have_one_flat_list_of_names() -> None:
    options = CameraOptions.of(sources=("photos",), model="vww", jitter_ms=5.0, token="auto")
    assert (options.source.sources, options.model.name) == (("photos",), "vww")
    assert (options.source.jitter_ms, options.outputs.token) == (5.0, "auto")
    assert CameraOptions.of() == CameraOptions()
    with pytest.raises(TypeError, match="nothing"):
        CameraOptions.of(nothing=1)
