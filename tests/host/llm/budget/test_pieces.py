"""Tests of work in pieces: every token is computed once and in order, and the pieces follow the pacer's sizes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from arenite.host.llm.budget.pieces import (
    NextTokens,
    Piece,
    PieceSizes,
    decode_in_pieces,
    measure_token_s,
)
from arenite.host.llm.runtime import ContextFullError
from benchmarks.language_models.simulated_computer import CountingRuntime


class Recorder:
    """A pacer with constant sizes that records the pieces."""

    def __init__(self, prompt: int, tokens: int) -> None:
        self.sizes = PieceSizes(prompt, tokens)
        self.pieces: list[tuple[int, int]] = []

    def worked(self, piece: Piece) -> None:
        assert piece.seconds >= 0
        self.pieces.append((piece.prompt, piece.tokens))


class Cache(CountingRuntime):
    """A runtime that refuses to compute again what it has in its cache, and records the length of each context."""

    def __init__(self, context: int) -> None:
        super().__init__(context)
        self.lengths: list[int] = []

    def next_tokens(self, context: Sequence[int], count: int, *, ignores_end: bool) -> NextTokens:
        assert not self.lengths or len(context) > self.lengths[-1]
        self.lengths.append(len(context))
        if len(context) >= self._context:
            raise ContextFullError
        return super().next_tokens(context, count, ignores_end=ignores_end)


def test_a_prompt_and_an_answer_are_divided() -> None:
    pacer, runtime = Recorder(10, 4), Cache(100)
    pieces = list(decode_in_pieces(runtime, range(25), 11, pacer))
    assert pieces == [(25,), (26, 27, 28, 29), (30, 31, 32, 33), (34, 35)]
    assert runtime.lengths == [10, 20, 25, 26, 30, 34]
    assert pacer.pieces == [(10, 0), (10, 0), (5, 0), (0, 4), (0, 4), (0, 2)]


def test_the_cached_part_of_a_prompt_is_not_read_again() -> None:
    pacer, runtime = Recorder(10, 4), Cache(100)
    assert list(decode_in_pieces(runtime, range(25), 1, pacer, cached=18)) == [(25,)]
    assert runtime.lengths == [25] and pacer.pieces == [(7, 0)]


def test_an_answer_ends_where_the_context_is_full() -> None:
    pacer = Recorder(100, 4)
    assert list(decode_in_pieces(Cache(12), range(8), 50, pacer)) == [(8,), (9, 10, 11)]
    # The last piece fills the cache exactly, so the next one is refused.
    assert list(decode_in_pieces(Cache(13), range(8), 50, pacer)) == [(8,), (9, 10, 11, 12)]


def test_a_prompt_without_room_for_an_answer_is_refused() -> None:
    with pytest.raises(ContextFullError):
        list(decode_in_pieces(Cache(8), range(8), 5, Recorder(100, 4)))


def test_the_full_rate_is_that_of_the_tokens_after_the_first_one() -> None:
    ticks = iter((10.0, 13.0))
    assert measure_token_s(CountingRuntime(100), lambda: next(ticks)) == 0.5  # 3 s for 6 tokens
