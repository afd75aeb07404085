"""Tests of ``HotSwapServer``: a model is replaced between two frames, and a model that fails loses no frame."""

from __future__ import annotations

import threading

import pytest

from arenite.errors import ModelError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.several.hot_swap_server import HotSwapServer
from tests.host.camera.frames.photo_frames import frame_of, photograph
from tests.host.camera.serving.real_servers import CLASSIFIERS, server_of

OLD, NEW = CLASSIFIERS[1], CLASSIFIERS[2]


def opened(name: str, slots: int, closed: list[str]) -> ModelServer:
    """Return a server of a real model that notes in ``closed`` when it is closed."""
    server = server_of(name, slots)
    close_server = server.close

    def close() -> None:
        closed.append(name)
        close_server()

    server.close = close  # type: ignore[method-assign]
    return server


def picture() -> Frame:
    return frame_of(photograph(2))


def alone(name: str) -> Answer | None:
    """Return the answer of the model ``name`` to ``picture``."""
    server = server_of(name)
    answer = server.serve(picture()).answer
    server.close()
    return answer


def test_a_frame_in_progress_is_finished_by_its_model() -> None:
    closed: list[str] = []
    old, new, frame = opened(OLD, 2, closed), opened(NEW, 2, closed), picture()
    server = HotSwapServer(old)
    server.prepare(frame, 0)
    assert server.replace(new) is old
    server.prepare(frame, 1)
    for slot in (0, 1):
        server.invoke(slot)
    assert (server.model_of(0), server.model_of(1)) == (OLD, NEW)
    # The old model is closed only after the answer to its frame.
    retiring = threading.Thread(target=server.retire, args=(old, 60.0))
    retiring.start()
    assert server.answer(1) == alone(NEW)
    assert closed == []
    assert server.answer(0) == alone(OLD)
    retiring.join(60)
    assert closed == [OLD]
    assert server.serve(frame).model == NEW
    assert server.switches == 1
    server.close()
    assert closed == [OLD, NEW]


def test_a_model_that_is_in_use_for_too_long_is_closed_at_the_end() -> None:
    closed: list[str] = []
    old, new = opened(OLD, 1, closed), opened(NEW, 1, closed)
    server = HotSwapServer(old)
    server.prepare(picture())
    server.replace(new)
    server.retire(old, timeout_s=0.01)
    assert closed == []
    server.invoke()
    assert server.answer() == alone(OLD)
    server.retire(new)  # it serves, so it stays
    assert closed == []
    server.close()
    assert sorted(closed) == sorted([OLD, NEW])


@pytest.mark.parametrize("stage", ["prepare", "invoke", "answer", "serve"])
def test_the_model_before_answers_the_frame_on_which_the_new_one_fails(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, frame = server_of(OLD), server_of(NEW), picture()
    server = HotSwapServer(old)

    def fail(*arguments: object) -> None:
        raise ModelError("The model is broken.", "Repair it.")

    def serve() -> Answer | None:
        if stage == "serve":
            return server.serve(frame).answer
        server.prepare(frame)
        server.invoke()
        return server.answer()

    server.replace(new)
    assert serve() == alone(NEW)
    monkeypatch.setattr(new, stage, fail)
    assert serve() == alone(OLD)
    assert str(server.error) == "The model is broken. Repair it."
    assert server.serving is old and server.switches == 2
    assert serve() == alone(OLD)
    server.restore(old)
    assert server.switches == 2
    server.retire(new)
    server.close()


def test_errors_are_raised_after_the_probation(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, frame = server_of(OLD), server_of(NEW), picture()
    server = HotSwapServer(old)
    server.replace(new)
    server.retire(old)

    def fail(slot: int) -> None:
        raise ModelError("The model is broken.", "Repair it.")

    monkeypatch.setattr(new, "invoke", fail)
    server.prepare(frame)
    with pytest.raises(ModelError, match="is broken"):
        server.invoke()
    server.close()


def test_the_tap_gets_each_answer_once() -> None:
    server, frame = HotSwapServer(server_of(OLD)), picture()
    tapped: list[tuple[Frame, CropWindow | None, Answer, str]] = []
    server.tap = lambda *arguments: tapped.append(arguments)
    answer = server.serve(frame).answer
    server.prepare(frame)
    server.invoke()
    server.answer()
    server.warm()
    assert tapped == [(frame, None, answer, OLD)] * 2
    assert server.last_format == (frame.format, None)
    server.tap = None
    server.serve(frame)
    assert len(tapped) == 2
    server.close()


def test_warming_never_touches_a_frame_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, frame = server_of(OLD), server_of(NEW), picture()
    server, warmed = HotSwapServer(old), list[str]()
    monkeypatch.setattr(old, "warm", lambda: warmed.append(OLD))
    monkeypatch.setattr(new, "warm", lambda: warmed.append(NEW))
    server.warm()
    server.prepare(frame)
    server.warm()
    assert warmed == []
    server.invoke()
    server.answer()
    server.warm()
    server.replace(new)
    server.warm()  # the next frame goes to another model
    assert warmed == [OLD]
    server.close()
