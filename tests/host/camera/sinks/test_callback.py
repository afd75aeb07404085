"""Tests of the sink that calls a user's function with every frame. An error of the function does not end the loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.callback import CallbackSink, load_callback
from tests.host.camera.dashboard.simulated_run import face, frame_of, served_of, yuyv


def test_a_callback_gets_the_answer_and_the_pixels() -> None:
    calls = []
    memory = yuyv(64, 48)
    frame = frame_of(memory, Format("yuyv", 64, 48, (128,)))

    def look(served: ServedFrame, frame: Frame | None) -> None:
        assert frame is not None
        calls.append((served.number, int(frame.rows()[10, 20])))

    sink = CallbackSink(look)
    sink.take(served_of(3, face()), frame)
    sink.close()
    assert calls == [(3, int(memory[10, 20]))]


def test_a_failing_callback_is_reported_once_and_called_again() -> None:
    messages: list[str] = []
    calls = []

    def bad(served: ServedFrame, _: object) -> None:
        calls.append(served.number)
        if served.number != 1:
            raise ValueError("no such sandpiper")

    sink = CallbackSink(bad, report=messages.append)
    for number in range(4):
        sink.take(served_of(number), None)
    assert calls == [0, 1, 2, 3] and sink.failures == 3 and len(messages) == 1
    assert "bad failed on frame 0" in messages[0] and "ValueError: no such sandpiper" in messages[0]
    assert 'raise ValueError("no such sandpiper")' in messages[0]
    sink.close()
    assert messages[1].endswith("bad failed on 3 frames.")


def test_an_interrupt_is_not_swallowed() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallbackSink(stop).take(served_of(0), None)


def test_callbacks_from_a_file_and_a_module(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "class A:\n    @staticmethod\n    def f(served, frame):\n        return served.number + 1\n"
    )
    assert load_callback(f"{path}:A.f")(served_of(4), None) == 5
    assert load_callback("os.path:join")("a", "b") == "a/b"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nothing", "'nothing' is not the name of a callback"),
        ("no_such_module_of_ours:f", "Cannot import no_such_module_of_ours: ModuleNotFoundError"),
        ("{dir}/none.py:f", "There is no file"),
        ("{dir}/broken.py:f", "Cannot import .*: ZeroDivisionError"),
        ("os.path:no_such", "has no function 'no_such'"),
        ("os.path:sep", "has no function 'sep'"),
    ],
)
def test_invalid_callbacks_raise_an_error(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(UsageError, match=problem) as error:
        load_callback(text.format(dir=tmp_path))
    assert "MODULE:FUNCTION" in error.value.hint
