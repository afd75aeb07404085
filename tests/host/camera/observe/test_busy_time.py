"""Tests of ``BusyTime``, the time in which at least one stage worked, by comparison with a count of every
nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.camera.observe.busy_time import BusyTime

#: The begin and the end of a stage's work, in nanoseconds.
SPAN = st.tuples(st.integers(1, 300), st.integers(0, 40)).map(lambda s: (s[0], s[0] + s[1]))


@given(st.lists(SPAN, max_size=60))
def test_overlaps_count_once(spans: list[tuple[int, int]]) -> None:
    busy = BusyTime()
    for begin, end in spans:
        busy.add(begin, end)
    assert busy.ns == len({t for begin, end in spans for t in range(begin, end)})


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 12)), min_size=100, max_size=400))
def test_a_long_run_keeps_a_limited_number_of_spans(steps: list[tuple[int, int]]) -> None:
    """Each span begins at most five nanoseconds before the end of the previous span."""
    busy, spans, now = BusyTime(keep=8), set[int](), 10
    for gap, length in steps:
        begin = max(now + gap - 5, 1)
        now = begin + length
        busy.add(begin, now)
        spans |= set(range(begin, now))
        assert len(busy._begins) <= 16
    assert busy.ns == len(spans)
