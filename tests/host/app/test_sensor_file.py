"""The file of a virtual sensor has the samples and the faults of a real one."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.app.sensor_file import KINDS, LATE, LOST, STUCK, UNPLUGGED, Fault, block_of, sensor_bytes

BLOCK = block_of(16000, 1)
SAMPLES = np.arange(5 * BLOCK, dtype=np.int16)


def records(data: bytes) -> list[tuple[int, int, list[int]]]:
    """Return the arrival, the lost samples and the samples of each record."""
    found, at = [], 0
    while at < len(data):
        arrival, lost, count = struct.unpack_from("<III", data, at)
        found.append((arrival, lost, np.frombuffer(data, "<i2", count, at + 12).tolist()))
        at += 12 + 2 * count
    return found


def values_of(found: list[tuple[int, int, list[int]]]) -> list[int]:
    """Return the samples of all records."""
    return [value for _, _, values in found for value in values]


def test_samples_of_several_channels_stay_together() -> None:
    samples = np.arange(3 * 250, dtype=np.int16).reshape(250, 3)
    data = sensor_bytes(samples, rate=10_000)
    blocks, at = [], 0
    while at < len(data):
        arrival, _, count = struct.unpack_from("<III", data, at)
        blocks.append((arrival, count))
        at += 12 + 2 * 3 * count
    assert block_of(10_000, 3) == 85  # a record has 256 values at most
    assert blocks == [(85, 85), (170, 85), (250, 80), (250 + 10_000, 0)]
    assert [block_of(rate, 6) for rate in (1, 100, 900, 48000)] == [1, 1, 9, 42]


def test_samples_arrive_when_the_last_one_of_their_block_was_measured() -> None:
    *blocks, end = records(sensor_bytes(SAMPLES))
    assert blocks == [((k + 1) * BLOCK, 0, SAMPLES[k * BLOCK : (k + 1) * BLOCK].tolist()) for k in range(5)]
    assert end == (5 * BLOCK + 100 * BLOCK, 0, [])


def test_the_file_ends_a_second_after_the_last_sample() -> None:
    *_, end = records(sensor_bytes(SAMPLES, rate=100))
    assert end == (5 * BLOCK + 100, 0, [])


def test_faults_within_faults_are_combined() -> None:
    faults = [Fault(LATE, 10, 300), Fault(UNPLUGGED, 100, 50), Fault(STUCK, 20, 40), Fault(STUCK, 60, 10)]
    found = records(sensor_bytes(SAMPLES, faults))
    assert values_of(found)[19:71] == [19] * 51 + [70]
    assert {r[0] for r in found[:3]} == {10, 310 + 50}


def test_lost_samples_are_reported_with_those_after_them() -> None:
    found = records(sensor_bytes(SAMPLES, [Fault(LOST, 200, 150)]))
    assert [r[:2] for r in found[:4]] == [(160, 0), (200, 0), (480, 150), (640, 0)]
    assert values_of(found) == [*range(200), *range(350, 5 * BLOCK)]


def test_late_samples_arrive_together() -> None:
    found = records(sensor_bytes(SAMPLES, [Fault(LATE, BLOCK, 2 * BLOCK)]))
    assert [r[0] for r in found[:5]] == [BLOCK, 3 * BLOCK, 3 * BLOCK, 4 * BLOCK, 5 * BLOCK]
    assert values_of(found) == SAMPLES.tolist()


def test_stuck_samples_repeat_the_one_before_them() -> None:
    found = records(sensor_bytes(SAMPLES, [Fault(STUCK, 10, 30)]))
    assert values_of(found)[9:41] == [9] * 31 + [40]


def test_an_unplugged_sensor_sends_nothing_for_a_while() -> None:
    found = records(sensor_bytes(SAMPLES, [Fault(UNPLUGGED, BLOCK, 1000)]))
    assert [r[0] for r in found[:3]] == [BLOCK, 2 * BLOCK + 1000, 3 * BLOCK + 1000]
    assert values_of(found) == SAMPLES.tolist() and not any(r[1] for r in found)


@given(
    st.lists(
        st.builds(Fault, st.sampled_from(KINDS), st.integers(0, len(SAMPLES) - 1), st.integers(1, 900)),
        max_size=5,
    )
)
def test_time_never_runs_backwards_and_no_sample_disappears(faults: list[Fault]) -> None:
    found = records(sensor_bytes(SAMPLES, faults))
    assert [r[0] for r in found] == sorted(r[0] for r in found)
    assert sum(r[1] + len(r[2]) for r in found) == len(SAMPLES)
    assert all(len(r[2]) <= BLOCK for r in found)


@pytest.mark.parametrize(
    ("kind", "at", "count", "message"),
    [("gone", 0, 1, "not a fault"), (LOST, -1, 1, "cannot begin"), (LOST, 0, 0, "cannot begin")],
)
def test_a_wrong_fault_is_refused(kind: str, at: int, count: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Fault(kind, at, count)


def test_a_fault_after_the_end_is_refused() -> None:
    with pytest.raises(UsageError, match="but there are 800 samples"):
        sensor_bytes(SAMPLES, [Fault(LOST, 800, 1)])
