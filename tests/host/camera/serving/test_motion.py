"""Tests of the motion gate, which lets the model run only on frames with motion, on photographs with noise and changes
of light."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.host.camera.serving.motion import MotionGate, MotionSettings, estimate_light
from tests.host.camera.frames.photo_frames import SECOND, frame_of, grey_frame, lit, noisy, photograph

#: The time between two frames.
TICK = SECOND // 25


class Scene:
    """A simulated camera of 25 frames per second whose frames go to a motion gate."""

    def __init__(self, **settings: float) -> None:
        self.gate = MotionGate(MotionSettings(**({"hold_s": 0.0, "refresh_s": 1e9} | settings)))  # type: ignore[arg-type]
        self.now = SECOND
        self.seed = 0

    def show(self, rgb: np.ndarray, sigma: float = 0.0) -> bool:
        """Return whether the model must run on the next frame: ``rgb`` with noise of the deviation ``sigma``."""
        self.now += TICK
        self.seed += 1
        return self.gate.must_run(frame_of(noisy(rgb, sigma, self.seed) if sigma else rgb, self.now))

    def settle(self, rgb: np.ndarray, sigma: float = 0.0, frames: int = 30) -> list[bool]:
        """Show the same scene for ``frames`` frames. Return for each frame whether the model must run."""
        return [self.show(rgb, sigma) for _ in range(frames)]


def with_object(rgb: np.ndarray, left: int, top: int, size: int = 48) -> np.ndarray:
    """Return the picture with a square of ``size`` pixels from another photograph in it."""
    picture = rgb.copy()
    picture[top : top + size, left : left + size] = photograph(3)[100 : 100 + size, 200 : 200 + size]
    return picture


@pytest.mark.slow
@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("sigma", [0.0, 2.0, 6.0, 12.0])
def test_a_still_scene_needs_the_model_once(index: int, sigma: float) -> None:
    scene = Scene()
    assert scene.settle(photograph(index), sigma, 60) == [True] + [False] * 59
    assert (scene.gate.looked, scene.gate.still, scene.gate.reason) == (60, 59, "still")


@pytest.mark.slow
@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("sigma", [0.0, 4.0])
def test_an_object_that_enters_or_leaves_is_motion(index: int, sigma: float) -> None:
    scene, empty = Scene(), photograph(index)
    scene.settle(empty, sigma)
    assert scene.show(with_object(empty, 200, 150), sigma)
    assert scene.gate.reason == "moved"
    assert not any(scene.settle(with_object(empty, 200, 150), sigma))
    assert scene.show(empty, sigma)


@pytest.mark.slow
def test_every_frame_of_a_moving_object_is_computed() -> None:
    scene, empty = Scene(), photograph(1)
    scene.settle(empty, 3.0)
    assert all(scene.show(with_object(empty, 40 + 12 * step, 150), 3.0) for step in range(40))


@pytest.mark.slow
def test_a_turning_camera_is_motion() -> None:
    """If the whole picture moves, the gate does not take the change for noise."""
    scene, wide = Scene(), photograph(1, 960, 540)
    scene.settle(wide[:360, :640], 3.0)
    assert all(scene.show(wide[:360, 6 * step : 640 + 6 * step], 3.0) for step in range(1, 50))
    assert scene.show(wide[:360, 300:940], 3.0)
    assert not any(scene.settle(wide[:360, 300:940], 3.0))


@pytest.mark.slow
def test_slow_motion_is_detected() -> None:
    """Motion of one pixel in five frames is detected, although two consecutive frames hardly differ."""
    scene, empty = Scene(), photograph(2)
    scene.settle(empty)
    moved = [scene.show(with_object(empty, 100 + step // 5, 100)) for step in range(1, 150)]
    assert sum(moved) >= 10


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "offset"), [(1.12, 0.0), (0.85, 0.0), (1.0, 12.0), (0.9, 8.0)])
def test_a_small_change_of_light_is_no_motion(gain: float, offset: float) -> None:
    scene, room = Scene(), photograph(1) // 2 + 40
    scene.settle(room, 2.0)
    assert not any(scene.settle(lit(room, gain, offset), 2.0))


def test_motion_in_changing_light_is_detected() -> None:
    scene, room = Scene(), photograph(1) // 2 + 40
    scene.settle(room, 2.0)
    assert not scene.show(lit(room, 1.1), 2.0)
    assert scene.show(with_object(lit(room, 1.1), 300, 100), 2.0)
    assert scene.gate.reason == "moved"


@pytest.mark.slow
def test_a_lamp_switched_on_is_computed_once() -> None:
    scene, dark = Scene(), photograph(0) // 4
    scene.settle(dark, 2.0)
    assert scene.show(dark * 3, 2.0)
    assert scene.gate.reason == "light"
    assert not any(scene.settle(dark * 3, 2.0))


@pytest.mark.slow
def test_higher_noise_is_accepted_after_a_while() -> None:
    scene = Scene(memory_s=2.0)
    scene.settle(photograph(0), 0.5, 90)
    louder = scene.settle(photograph(0), 15.0, 150)
    assert louder[0]
    assert not any(louder[-60:])
    assert scene.gate.noise.level > 5
    scene.settle(photograph(0), 0.5, 3)
    assert scene.gate.noise.level < 1


def test_frames_after_motion_are_computed_for_the_hold_time() -> None:
    scene, empty = Scene(hold_s=0.4), photograph(1)
    scene.settle(empty)
    assert scene.show(with_object(empty, 200, 150))
    moved = scene.settle(with_object(empty, 200, 150), frames=30)
    assert moved == [True] * 9 + [False] * 21  # ten frames in 0.4 s, the first one before ``settle``


def test_a_still_scene_is_refreshed() -> None:
    scene = Scene(refresh_s=1.0)
    computed = scene.settle(photograph(0), frames=100)
    assert [number for number, looked in enumerate(computed) if looked] == [0, 25, 50, 75]
    assert scene.gate.still == 96


def test_another_size_or_a_reset_restarts_the_gate() -> None:
    scene = Scene()
    scene.settle(photograph(0))
    assert scene.show(photograph(0, 320, 240))
    assert scene.gate.reason == "first"
    assert not scene.show(photograph(0, 320, 240))
    scene.gate.reset()
    assert scene.show(photograph(0, 320, 240))


def test_light_and_motion_are_distinguished_in_a_plain_picture() -> None:
    """A plain grey frame has no contrast from which a change of light could be computed. Nevertheless, a lighter plain
    frame counts as still, and a frame with a box in it counts as motion."""
    gate = MotionGate(MotionSettings(hold_s=0.0, refresh_s=1e9))
    plain_grey = np.full((360, 640), 100, np.uint8)
    assert gate.must_run(grey_frame(plain_grey, 1))
    assert not gate.must_run(grey_frame(plain_grey + 10, 2))
    with_box = plain_grey + 10
    with_box[100:160, 100:160] = 200
    assert gate.must_run(grey_frame(with_box, 3))


@pytest.mark.parametrize(("gain", "offset"), [(1.0, 0.0), (1.3, -20.0), (0.7, 15.0)])
def test_a_change_of_light_is_estimated_despite_motion(gain: float, offset: float) -> None:
    before = np.random.default_rng(0).uniform(60, 150, (36, 64)).astype(np.float32)
    after = before * gain + offset
    after[:9] = 170  # a quarter of the picture is covered
    gain_and_offset = estimate_light(before, after)
    assert gain_and_offset == (pytest.approx(gain, abs=0.02), pytest.approx(offset, abs=2.0))


def test_a_black_picture_has_no_light_change() -> None:
    black = np.zeros((36, 64), np.float32)
    assert estimate_light(black, black + 200) == (1.0, 0.0)
