"""Tests of ``ResultCache``, which returns the stored answer for an input that the model already got."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.serving.result_cache import ResultCache
from tests.example_count import example_count

#: The bytes of an input.
SIZE = 96 * 96 * 3


def picture(seed: int, size: int = SIZE) -> np.ndarray:
    """Return ``size`` random bytes."""
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def answer_of(prepared: np.ndarray, key: object = ()) -> Answer:
    """Return an answer that depends on the bytes of the input and on the key, in place of a model's answer."""
    return Answer("values", values=(float(hash((prepared.tobytes(), key)) % 2**40),))


def serve(cache: ResultCache, prepared: np.ndarray, key: object = ()) -> tuple[Answer, bool]:
    """Return the answer to an input, and whether it came from the cache. Otherwise it is computed and offered to the
    cache, as in the camera loop."""
    cached = cache.find(prepared, key)
    if cached is not None:
        return cached, True
    answer = answer_of(prepared, key)
    cache.keep(answer)
    return answer, False


def test_an_identical_frame_is_answered_from_the_third_time_on() -> None:
    cache = ResultCache()
    hits = [serve(cache, picture(1).copy())[1] for _ in range(5)]
    assert hits == [False, False, True, True, True]
    assert (cache.looked, cache.hits) == (5, 3)


def test_new_frames_are_never_copied() -> None:
    cache = ResultCache()
    for seed in range(50):
        assert not serve(cache, picture(seed))[1]
    assert cache.copied_bytes == cache.held_bytes == 0


def test_one_changed_byte_makes_a_different_input() -> None:
    """The cache looks up an input by a fingerprint of few of its bytes, and then compares all bytes."""
    cache, base = ResultCache(), picture(2)
    for _ in range(3):
        serve(cache, base)
    assert serve(cache, base)[1]
    for offset in range(0, SIZE, 997):
        changed = base.copy()
        changed[offset] ^= 1
        answer, _ = serve(cache, changed)
        assert answer == answer_of(changed)


def test_the_key_distinguishes_answers() -> None:
    cache, prepared = ResultCache(), picture(3)
    for key in ("vww", "face"):
        for _ in range(3):
            answer, _ = serve(cache, prepared, key)
            assert answer == answer_of(prepared, key)
    assert cache.hits == 2


def test_the_least_recently_used_answer_is_removed_first() -> None:
    cache = ResultCache(entries=2)
    for seed in (1, 1, 2, 2):
        serve(cache, picture(seed))
    assert serve(cache, picture(1))[1]
    for _ in range(2):
        serve(cache, picture(3))
    assert serve(cache, picture(1))[1]
    assert not serve(cache, picture(2))[1]


def test_the_size_of_the_cache_is_limited() -> None:
    cache = ResultCache(entries=100, max_bytes=3 * SIZE + 10)
    for seed in range(10):
        for _ in range(2):
            serve(cache, picture(seed))
    assert cache.held_bytes == 3 * SIZE
    assert len(cache._entries) == 3
    huge = np.zeros(4 * SIZE, np.uint8)
    for _ in range(3):
        assert not serve(cache, huge)[1]


def test_the_cache_keeps_the_input_that_the_model_got() -> None:
    """The cache compares with the input that the model got, not with the later content of its memory."""
    cache, memory = ResultCache(), picture(4)
    cache.find(memory)
    cache.find(memory)
    given_input = memory.copy()
    memory[:] = 0
    cache.keep(answer_of(given_input))
    assert cache.find(given_input) == answer_of(given_input)
    assert cache.find(memory) is None


def test_an_input_without_an_answer_is_not_found() -> None:
    cache, prepared = ResultCache(), picture(5)
    for _ in range(6):
        assert cache.find(prepared) is None
    cache.keep(answer_of(prepared))
    assert cache.find(prepared) == answer_of(prepared)


def test_two_slots_store_their_own_answers() -> None:
    cache, first, second = ResultCache(), picture(6), picture(7)
    for _ in range(2):
        assert cache.find(first, slot=0) is None
        assert cache.find(second, slot=1) is None
        cache.keep(answer_of(second), slot=1)
        cache.keep(answer_of(first), slot=0)
    assert cache.find(first, slot=1) == answer_of(first)
    assert cache.find(second, slot=0) == answer_of(second)


def test_the_same_input_in_two_slots_at_once() -> None:
    cache, prepared = ResultCache(), picture(8)
    cache.find(prepared)
    assert cache.find(prepared, slot=0) is None
    assert cache.find(prepared, slot=1) is None
    cache.keep(answer_of(prepared), slot=1)
    cache.keep(answer_of(prepared), slot=0)
    assert cache.find(prepared) == answer_of(prepared)


def test_clear_empties_the_cache() -> None:
    cache, prepared = ResultCache(), picture(9)
    for _ in range(3):
        serve(cache, prepared)
    cache.clear()
    assert cache.find(prepared) is None
    assert cache.held_bytes == 0


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from("ab")), max_size=60),
    st.integers(1, 4),
    st.integers(1, 700),
)
@settings(max_examples=example_count(150), deadline=None)
def test_the_cache_never_returns_a_wrong_answer(
    frames: list[tuple[int, int, str]], entries: int, size: int
) -> None:
    """The random inputs are equal or differ in one byte. They come in any order, and the cache has any limits."""
    cache = ResultCache(entries, max_bytes=2 * size)
    for seed, change, key in frames:
        prepared = picture(seed, size)
        prepared[(change * 331) % size] ^= change
        assert serve(cache, prepared, key)[0] == answer_of(prepared, key)
        assert cache.held_bytes == sum(entry.bytes.nbytes for entry in cache._entries.values()) <= 2 * size
        assert len(cache._entries) <= entries
