"""The schedule of an application's loop ends, however slow the parts of the loop are."""

from __future__ import annotations

import pytest

from arenite.host.app.loop_schedule import Schedule, window_counts

#: Windows of 30 ms of sound at 16 kHz on a processor with 64 million instructions a second.
SOUND = Schedule(rate=16000, channels=1, window=480, hop=480, record=16, tick=1e5, second=64e6)
#: The instructions that 16 samples give time for.
RECORD_TIME = 64_000.0


@pytest.mark.parametrize("record", [100.0, RECORD_TIME - 100, RECORD_TIME, 10 * RECORD_TIME])
@pytest.mark.parametrize("sample", [10.0, 8000.0])
def test_a_loop_that_is_too_slow_has_a_schedule(record: float, sample: float) -> None:
    counts = window_counts(SOUND, {"record": record, "feed": 50.0}, sample, 1e6, windows=5)
    assert [count["window"] for count in counts] == [1.0] * 5
    assert all(count.get("sleep", 0.0) == 0.0 for count in counts) == (
        sample > 4000.0 or record > RECORD_TIME - 160
    )
