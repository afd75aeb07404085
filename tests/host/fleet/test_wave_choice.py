"""Waves have the right size, are the same each time, and reach each kind of board."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.fleet.wave_choice import choose, wave_size


@pytest.mark.parametrize(
    ("devices", "share", "size"),
    [(10_000, 10, 100), (10_099, 10, 100), (50, 10, 1), (1, 10, 1), (0, 10, 0), (7, 1000, 7), (250, 100, 25)],
)
def test_a_wave_never_exceeds_its_share_but_has_a_device(devices: int, share: int, size: int) -> None:
    assert wave_size(devices, share) == size


_FLEET = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 60), min_size=1)


@given(_FLEET, st.integers(0, 200), st.text("xyz", max_size=3))
def test_each_board_is_chosen_if_there_is_room(boards: dict[str, int], size: int, seed: str) -> None:
    candidates = [(f"{board}{k}", board) for board, count in boards.items() for k in range(count)]
    chosen = choose(candidates, {}, size, seed)
    assert chosen == choose(reversed(candidates), {}, size, seed)
    assert len(set(chosen)) == len(chosen) == min(size, len(candidates))
    counts = Counter(device[0] for device in chosen)
    if size >= len(boards):
        assert set(counts) == set(boards)
        for board, count in boards.items():
            assert abs(counts[board] - len(chosen) * count / len(candidates)) < max(2, len(boards))


def test_shares_are_those_of_the_fleet() -> None:
    candidates = [(f"a{k}", "a") for k in range(900)] + [(f"b{k}", "b") for k in range(95)]
    candidates += [(f"c{k}", "c") for k in range(5)]
    chosen = choose(candidates, {}, 10, "1")
    assert Counter(device[0] for device in chosen) == {"a": 8, "b": 1, "c": 1}
    rest = [candidate for candidate in candidates if candidate[0] not in chosen]
    further = choose(rest, {"a": 8, "b": 1, "c": 1}, 90, "1")
    assert Counter(device[0] for device in further) == {"a": 82, "b": 8}


def test_another_rollout_begins_with_other_devices() -> None:
    candidates = [(f"a{k}", "a") for k in range(1000)]
    assert choose(candidates, {}, 10, "1/2.0") != choose(candidates, {}, 10, "2/2.0")
