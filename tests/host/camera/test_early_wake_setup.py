"""Tests of sessions that wake up early: options, refusals, notes, the record, and the pause under a budget."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.errors import ModelError, UsageError
from arenite.host.camera.model.model_state import keeps_state
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.session import CameraSession
from arenite.host.cli.camera import camera
from arenite.host.cli.camera_fields import camera_options_of
from arenite.host.governor.interface import Limits
from tests.converters.small_models import ALL, Net
from tests.host.camera.runtimes.small_models import saved

#: Options of sessions with small pictures.
SMALL: dict[str, Any] = {"sources": ("synthetic",), "width": 320, "height": 192, "overlap": False}


def record_of(**options: Any) -> dict[str, Any]:
    """Run a session and return its record, as ``arenite camera --json`` writes it."""
    with CameraSession(CameraOptions.of(**SMALL | options)) as session:
        return session.run().to_json()


def test_the_options_are_parsed() -> None:
    arguments = ["--source", "synthetic", "--early-wake", "0.3", "--warm-model", "--time-slice", "0.1"]
    values = camera.make_context("camera", arguments).params
    for name in ("as_json", "token_file", "source_file"):
        del values[name]
    loop = camera_options_of(values).loop
    assert (loop.early_wake_ms, loop.warm_model, loop.time_slice_ms) == (0.3, True, 0.1)
    loop = CameraOptions().loop
    assert (loop.early_wake_ms, loop.warm_model, loop.time_slice_ms) == (0.0, False, None)


def test_without_the_options_the_record_has_no_early_wake_up() -> None:
    assert "early_wake" not in record_of(frames=2)


def test_the_record_has_the_processor_time_of_polling() -> None:
    end = time.monotonic() + 60
    while True:  # a busy machine can delay the thread until the frame is there
        record = record_of(frames=10, early_wake_ms=20)
        early_wake = record["early_wake"]
        assert early_wake["frames"] == record["frames"]["served"] == 10
        assert early_wake["early_ms"] == 20 and not early_wake["warm_model"] and not early_wake["paused"]
        if early_wake["awake"] or time.monotonic() > end:
            break
    assert 0 < early_wake["awake"] <= 10 and early_wake["cpu_ms_per_frame"] > 0


@pytest.mark.slow
def test_warm_runs_do_not_change_the_answers() -> None:
    answers: list[dict[int, Any]] = []
    warmed = []
    for warm in (False, True):
        with CameraSession(CameraOptions.of(**SMALL, frames=24, warm_model=warm, early_wake_ms=1)) as session:
            # The synthetic source repeats eight pictures.
            answers.append({served.sequence % 8: served.answer for served in session.stream()})
        assert session.early_wake is not None
        warmed.append(session.early_wake.warmed)
    same = answers[0].keys() & answers[1].keys()
    assert same and all(answers[0][picture] == answers[1][picture] for picture in same)
    assert warmed[0] == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_of_the_model_before_frames_are_counted(threads: int) -> None:
    end = time.monotonic() + 60
    while True:
        record = record_of(frames=20, warm_model=True, threads=threads)
        if record["early_wake"]["warmed"] or time.monotonic() > end:
            break
    assert 0 < record["early_wake"]["warmed"] < 20
    assert record["early_wake"]["cpu_ms_per_frame"] > 0


@pytest.mark.slow
def test_a_budget_that_restricts_the_loop_pauses_the_early_wake_up() -> None:
    """The power of this computer is estimated from a profile, and is far above the budget."""
    record = record_of(
        duration_s=3, early_wake_ms=20, warm_model=True, host="generic_x86", limits=Limits(power_w=0.1)
    )
    early_wake = record["early_wake"]
    assert record["governor"] and early_wake["frames"] > 0
    assert early_wake["paused"] and early_wake["cpu_ms_per_frame"] == 0
    assert early_wake["awake"] == early_wake["warmed"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pace": "file"}, "the loop never waits for a frame of a recording"),
        ({"overlap": True}, "because frames overlap"),
    ],
)
def test_a_note_says_why_there_is_no_early_wake_up(options: dict[str, Any], words: str) -> None:
    record = record_of(frames=3, early_wake_ms=1, **options)
    assert "early_wake" not in record
    assert any("--early-wake has no effect" in note and words in note for note in record["notes"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"motion": True}, "--motion avoids"),
        ({"cache": True}, "--cache avoids"),
        ({"also": ("visual_wake_words",)}, "works with one model"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], words: str) -> None:
    with (
        pytest.raises(UsageError, match=words),
        CameraSession(CameraOptions.of(**SMALL, warm_model=True, frames=1, **options)),
    ):
        pass


@pytest.mark.parametrize("name", ALL)
def test_models_with_state_are_found(name: str, tmp_path: Path) -> None:
    path = saved(ALL[name](), tmp_path)
    assert keeps_state(path) == (name in ("with_state", "svdf", "svdf_biased"))


def test_a_damaged_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.tflite"
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(ModelError, match=r"damaged\.tflite"):
        keeps_state(path)


def _picture_model_with_state() -> Model:
    """Return a model that takes a picture and has an SVDF, whose state is a variable tensor."""
    net = Net(11)
    x = net.input((1, 2, 1, 3))
    quant = net.tensors[x].quant
    flat = net.op(
        "RESHAPE", [x, net.ints([1, 6])], (1, 6), options="ReshapeOptions", new_shape=(1, 6), quant=quant
    )
    feature = net.tensor((4, 6), data=net.rng.integers(-127, 128, (4, 6)), quant=Quantization((0.02,), (0,)))
    weights = net.rng.integers(-3000, 3000, (4, 3))
    time_weights = net.tensor((4, 3), "int16", data=weights, quant=Quantization((0.0005,), (0,)))
    state = net.tensor((1, 12), "int16", quant=Quantization((0.004,), (0,)), variable=True)
    inputs = [flat, feature, time_weights, -1, state]
    y = net.op("SVDF", inputs, (1, 4), options="SVDFOptions", rank=1, fused_activation_function=1)
    return net.model([y])


def test_a_model_with_state_is_not_warmed(tmp_path: Path) -> None:
    path = saved(_picture_model_with_state(), tmp_path)
    options = SMALL | {"model": str(path), "frames": 2, "early_wake_ms": 1, "runtime": "litert-interpreter"}
    assert record_of(**options)["frames"]["served"] == 2
    with pytest.raises(UsageError, match="keeps state between frames"):
        record_of(**options, warm_model=True)
