from __future__ import annotations

import numpy as np
import pytest

from arenite.host.camera.serving.motion import MotionGate, MotionSettings, light
from tests.host.camera.frames.photo_frames import SECOND, frame_of, grey_frame, lit, noisy, photograph

TICK = SECOND // 25


class Scene:
    """A camera of 25 frames per second in front of a gate."""

    def __init__(self, **settings: float) -> None:
        self.gate = MotionGate(MotionSettings(**({"hold_s": 0.0, "refresh_s": 1e9} | settings)))  # type: ignore[arg-type]
        self.now = SECOND
        self.seed = 0

    def show(self, rgb: np.ndarray, sigma: float = 0.0) -> bool:
        self.now += TICK
        self.seed += 1
        return self.gate.moved(frame_of(noisy(rgb, sigma, self.seed) if sigma else rgb, self.now))

    def settle(self, rgb: np.ndarray, sigma: float = 0.0, frames: int = 30) -> list[bool]:
        return [self.show(rgb, sigma) for _ in range(frames)]


def with_object(rgb: np.ndarray, left: int, top: int, size: int = 48) -> np.ndarray:
    """A piece of another photograph in it."""
    made = rgb.copy()
    made[top : top + size, left : left + size] = photograph(3)[100 : 100 + size, 200 : 200 + size]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("sigma", [0.0, 2.0, 6.0, 12.0])
def test_a_still_scene_needs_the_model_once(which: int, sigma: float) -> None:
    scene = Scene()
    assert scene.settle(photograph(which), sigma, 60) == [True] + [False] * 59
    assert (scene.gate.looked, scene.gate.still, scene.gate.reason) == (60, 59, "still")


@pytest.mark.slow
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("sigma", [0.0, 4.0])
def test_something_that_enters_and_leaves(which: int, sigma: float) -> None:
    scene, empty = Scene(), photograph(which)
    scene.settle(empty, sigma)
    assert scene.show(with_object(empty, 200, 150), sigma)
    assert scene.gate.reason == "moved"
    assert not any(scene.settle(with_object(empty, 200, 150), sigma))
    assert scene.show(empty, sigma)


@pytest.mark.slow
def test_something_that_moves_is_looked_at_in_every_frame() -> None:
    scene, empty = Scene(), photograph(1)
    scene.settle(empty, 3.0)
    assert all(scene.show(with_object(empty, 40 + 12 * step, 150), 3.0) for step in range(40))


@pytest.mark.slow
def test_a_camera_that_turns() -> None:
    """All of the picture moves: that is not noise."""
    scene, wide = Scene(), photograph(1, 960, 540)
    scene.settle(wide[:360, :640], 3.0)
    assert all(scene.show(wide[:360, 6 * step : 640 + 6 * step], 3.0) for step in range(1, 50))
    assert scene.show(wide[:360, 300:940], 3.0)
    assert not any(scene.settle(wide[:360, 300:940], 3.0))


@pytest.mark.slow
def test_slow_motion_adds_up() -> None:
    """A pixel in five frames is nothing from one frame to the next."""
    scene, empty = Scene(), photograph(2)
    scene.settle(empty)
    moved = [scene.show(with_object(empty, 100 + step // 5, 100)) for step in range(1, 150)]
    assert sum(moved) >= 10


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "offset"), [(1.12, 0.0), (0.85, 0.0), (1.0, 12.0), (0.9, 8.0)])
def test_a_little_more_or_less_light_is_no_motion(gain: float, offset: float) -> None:
    scene, room = Scene(), photograph(1) // 2 + 40
    scene.settle(room, 2.0)
    assert not any(scene.settle(lit(room, gain, offset), 2.0))


def test_motion_in_changing_light_is_seen() -> None:
    scene, room = Scene(), photograph(1) // 2 + 40
    scene.settle(room, 2.0)
    assert not scene.show(lit(room, 1.1), 2.0)
    assert scene.show(with_object(lit(room, 1.1), 300, 100), 2.0)
    assert scene.gate.reason == "moved"


@pytest.mark.slow
def test_a_lamp_switched_on_is_looked_at_once() -> None:
    scene, dark = Scene(), photograph(0) // 4
    scene.settle(dark, 2.0)
    assert scene.show(dark * 3, 2.0)
    assert scene.gate.reason == "light"
    assert not any(scene.settle(dark * 3, 2.0))


@pytest.mark.slow
def test_a_camera_that_becomes_noisy_is_believed_after_a_while() -> None:
    scene = Scene(memory_s=2.0)
    scene.settle(photograph(0), 0.5, 90)
    louder = scene.settle(photograph(0), 15.0, 150)
    assert louder[0]
    assert not any(louder[-60:])
    assert scene.gate.noise.level > 5
    scene.settle(photograph(0), 0.5, 3)
    assert scene.gate.noise.level < 1


def test_held_for_a_while_after_motion() -> None:
    scene, empty = Scene(hold_s=0.4), photograph(1)
    scene.settle(empty)
    assert scene.show(with_object(empty, 200, 150))
    held = scene.settle(with_object(empty, 200, 150), frames=30)
    assert held == [True] * 9 + [False] * 21


def test_refreshed_at_the_latest() -> None:
    scene = Scene(refresh_s=1.0)
    shown = scene.settle(photograph(0), frames=100)
    assert [number for number, looked in enumerate(shown) if looked] == [0, 25, 50, 75]
    assert scene.gate.still == 96


def test_another_size_or_a_reset_starts_anew() -> None:
    scene = Scene()
    scene.settle(photograph(0))
    assert scene.show(photograph(0, 320, 240))
    assert scene.gate.reason == "first"
    assert not scene.show(photograph(0, 320, 240))
    scene.gate.reset()
    assert scene.show(photograph(0, 320, 240))


def test_a_picture_without_content() -> None:
    """Nothing to fit a gain to: an even grey, then one that is a little lighter, then something in it."""
    gate = MotionGate(MotionSettings(hold_s=0.0, refresh_s=1e9))
    even = np.full((360, 640), 100, np.uint8)
    assert gate.moved(grey_frame(even, 1))
    assert not gate.moved(grey_frame(even + 10, 2))
    with_box = even + 10
    with_box[100:160, 100:160] = 200
    assert gate.moved(grey_frame(with_box, 3))


@pytest.mark.parametrize(("gain", "offset"), [(1.0, 0.0), (1.3, -20.0), (0.7, 15.0)])
def test_light_is_fitted_beside_motion(gain: float, offset: float) -> None:
    before = np.random.default_rng(0).uniform(60, 150, (36, 64)).astype(np.float32)
    after = before * gain + offset
    after[:9] = 170  # a quarter of the picture is covered
    found = light(before, after)
    assert found == (pytest.approx(gain, abs=0.02), pytest.approx(offset, abs=2.0))


def test_light_cannot_be_told_of_a_black_picture() -> None:
    black = np.zeros((36, 64), np.float32)
    assert light(black, black + 200) == (1.0, 0.0)
