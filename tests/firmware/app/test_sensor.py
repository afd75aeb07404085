"""The ring of samples between a driver and an application loses nothing silently."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.firmware.app.compiled_app import compiled

ROOM = 16
HEADERS = {"app_settings.h": f"#define SENSOR_ROOM {ROOM}u\n#define SENSOR_CHANNELS 1u\n"}


class Ring:
    """A new, empty ring."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self._library = compiled(Path(folder), ["sensor.c"], "", HEADERS)

    def write(self, samples: list[int], lost: int = 0) -> None:
        """Hand over samples as a driver does."""
        self._library.sensor_write(
            np.array(samples, np.int16).ctypes.data_as(ctypes.c_void_p), len(samples), lost
        )

    def read(self, most: int) -> tuple[list[int], int]:
        """Return up to ``most`` samples, and how many are missing before them."""
        to, lost = np.zeros(most, np.int16), ctypes.c_uint32()
        count = self._library.sensor_read(to.ctypes.data_as(ctypes.c_void_p), most, ctypes.byref(lost))
        return to[:count].tolist(), lost.value

    @property
    def waiting(self) -> int:
        """The number of samples that wait."""
        return int(self._library.sensor_waiting())


def test_samples_that_are_read_in_time_arrive_in_order() -> None:
    ring = Ring()
    read: list[int] = []
    for start in range(0, 200, 10):
        ring.write(list(range(start, start + 10)))
        assert ring.waiting == 10
        samples, lost = ring.read(10)
        assert lost == 0
        read += samples
    assert read == list(range(200))


def test_a_full_ring_keeps_the_oldest_samples_and_counts_the_others() -> None:
    ring = Ring()
    ring.write(list(range(ROOM + 7)))
    assert ring.read(100) == (list(range(ROOM)), 0)
    ring.write([100, 101])
    assert ring.read(100) == ([100, 101], 7)
    assert ring.read(100) == ([], 0)


def test_a_gap_that_the_sensor_reports_is_told_between_the_samples() -> None:
    ring = Ring()
    ring.write([1, 2, 3])
    ring.write([9], lost=5)
    assert ring.read(100) == ([1, 2, 3], 0)
    assert ring.read(100) == ([9], 5)


def test_samples_after_a_second_gap_are_lost_until_the_first_gap_was_read() -> None:
    ring = Ring()
    ring.write([1])
    ring.write([2], lost=3)
    ring.write([3], lost=4)
    assert ring.read(100) == ([1], 0)
    assert ring.read(100) == ([2], 3)
    ring.write([4])
    assert ring.read(100) == ([4], 5)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.integers(1, 30)), max_size=60))
def test_every_sample_is_read_or_counted_as_lost(steps: list[tuple[int, int, int]]) -> None:
    """The samples are their own indices, so the reader can tell where each one belongs."""
    ring = Ring()
    written = expected = 0

    def check(most: int) -> bool:
        nonlocal expected
        samples, lost = ring.read(most)
        expected += lost
        assert samples == list(range(expected, expected + len(samples)))
        expected += len(samples)
        return bool(samples)

    for count, lost, most in steps:
        written += lost
        ring.write(list(range(written, written + count)), lost)
        written += count
        check(most)
    while check(5):
        pass
    ring.write([written])
    while check(5):
        pass
    assert expected == written + 1
