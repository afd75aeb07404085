"""The ring of rows between a camera's driver and an application loses no row silently, and its size is predicted."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from arenite.firmware.app.camera_timing import choose_timing
from tests.firmware.app.camera_settings import BYTES, ROOM, SETTINGS
from tests.firmware.app.compiled_app import compiled


class Row(ctypes.Structure):
    """The struct ``camera_row``."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("frame", "row", "ticks")),
        ("pixels", ctypes.POINTER(ctypes.c_uint8)),
    ]


@pytest.fixture
def camera(tmp_path: Path) -> ctypes.CDLL:
    """Return the ring's functions."""
    library = compiled(tmp_path, ["camera.c"], "", {"app_settings.h": SETTINGS.header()})
    library.camera_place.restype = ctypes.c_void_p
    return library


def write(camera: ctypes.CDLL, frame: int, row: int) -> bool:
    """Write a row as a driver does. Return whether there was room."""
    place = camera.camera_place()
    if place:
        ctypes.memset(place, 10 * frame + row, BYTES)
        camera.camera_arrived(frame, row, 1000 * frame + row)
    return bool(place)


def read(camera: ctypes.CDLL) -> tuple[int, int, int, list[int]] | None:
    """Read the oldest row."""
    row = Row()
    if not camera.camera_oldest(ctypes.byref(row)):
        return None
    values = (row.frame, row.row, row.ticks, row.pixels[:BYTES])
    camera.camera_release()
    return values


def test_rows_are_read_in_order(camera: ctypes.CDLL) -> None:
    for frame in range(3):
        for row in range(4):
            assert write(camera, frame, row)
            assert read(camera) == (frame, row, 1000 * frame + row, [10 * frame + row] * BYTES)
    assert read(camera) is None


def test_a_full_ring_has_no_place_until_a_row_is_released(camera: ctypes.CDLL) -> None:
    assert [write(camera, 0, row) for row in range(5)] == [True] * ROOM + [False] * 2
    assert read(camera) == (0, 0, 0, [0] * BYTES)
    assert write(camera, 1, 0) and not write(camera, 1, 1)
    assert [row[:2] for row in iter(lambda: read(camera), None)] == [(0, 1), (0, 2), (1, 0)]


def test_rows_arrive_while_the_model_needs_them_and_the_rest_runs_between_frames() -> None:
    even = choose_timing([1000.0] * 50, 100_000, 1)
    late = choose_timing([100.0] * 49 + [45_000.0], 100_000, 1)
    assert even is not None and late is not None
    assert even.room < 8 and late.room < 8
    assert late.row_us * 50 <= 100_000 - 45_000 < even.row_us * 50


def test_a_burst_of_work_needs_room_for_the_rows_that_arrive_meanwhile() -> None:
    bursts = [0.0 if k % 10 else 6000.0 for k in range(50)]
    timing = choose_timing(bursts, 100_000, 1)
    assert timing is not None and timing.room >= 6000 // timing.row_us


def test_a_model_that_is_too_slow_has_no_timing() -> None:
    assert choose_timing([3000.0] * 50, 100_000, 1) is None
    assert choose_timing([3000.0] * 50, 100_000, 3) is not None
