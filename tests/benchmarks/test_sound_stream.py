"""An endless recording costs little more than its new frames on an emulated board, and has the bytes of whole clips."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.sound_stream import FRONT_ENDS, fnv, measure, noise, table


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("front", list(FRONT_ENDS))
def test_a_hop_costs_little_more_than_its_share_of_a_clip(front: str) -> None:
    row = measure(front, 160, hops=30)
    assert row["exact"]
    assert 1.0 < row["ratio"] <= 1.15
    assert row["worst"] <= 1.15 * row["clip"]
    assert row["stream_bytes"] <= row["whole_bytes"] / 3
    assert f"| {front} | 160 |" in table([row])


def test_the_noise_has_quiet_and_loud_parts() -> None:
    """The second part is half as loud, and the fifteenth has only the values 0 and -1 and few others."""
    sound = noise(15 * 2048).reshape(15, 2048)
    peaks = np.abs(sound.astype(int)).max(axis=1)
    assert list(peaks > 30000 >> np.arange(15)) == [True] * 15
    assert len(np.unique(sound[14])) <= 4
    assert fnv(b"a") == 0xE40C292C >> 1
