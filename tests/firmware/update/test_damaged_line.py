"""An update of a model over a line that damages 1 % of the bytes takes little more than the ideal time."""

from __future__ import annotations

import pytest

from tests.firmware.update.damaged_line import Line, measure
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import INSTANT, RP2040, STM32L4

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_one_percent_of_damage_and_three_pulls(seed: int) -> None:
    result = measure(INSTANT, Line(0.01), seed)
    assert result.is_right and result.repaired > 0
    assert result.ratio < 1.3


@pytest.mark.slow
@pytest.mark.parametrize("memory", [STM32L4, RP2040], ids=lambda memory: memory.name)
def test_the_times_of_flash_memory_are_in_the_limit(memory) -> None:
    result = measure(memory, Line(0.01), 0)
    assert result.is_right and result.ratio < 1.5


def test_a_small_model_with_damage_and_pulls_arrives() -> None:
    """A quick version: short, so that waits and pulls weigh more."""
    result = measure(INSTANT, Line(0.01, pulls=1), 1, bytes_=20_000)
    assert result.is_right and result.ratio < 1.5


@pytest.mark.parametrize("line", [Line(0.01, burst=8, pulls=0), Line(0.0, pulls=2, silence_s=0.3)], ids=str)
def test_bursts_and_silence_are_survived(line: Line) -> None:
    assert measure(INSTANT, line, 2, bytes_=12_000).is_right


def test_a_clean_line_carries_plain_frames_only() -> None:
    result = measure(INSTANT, Line(0.0, pulls=0), 0, bytes_=12_000)
    assert result.is_right and result.losses == 0
    coded = measure(INSTANT, Line(0.0, pulls=0), 0, use_code=True, bytes_=12_000)
    assert coded.is_right and coded.seconds < result.seconds
