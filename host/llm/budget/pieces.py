"""Read a prompt and decode tokens in pieces, with a chance to pause after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from arenite.host.llm.runtime import ContextFullError

#: Tokens that are read and decoded to measure the rate without pauses.
_WARM_PROMPT, _WARM_TOKENS = 8, 6


@dataclass(frozen=True)
class NextTokens:
    """``tokens`` that were decoded. ``is_end``: the text or the cache ends after them."""

    tokens: tuple[int, ...]
    is_end: bool


@dataclass(frozen=True)
class PieceSizes:
    """How many tokens of a prompt to read, and how many to decode, before the next chance to pause."""

    prompt: int
    tokens: int


@dataclass(frozen=True)
class Piece:
    """Work that was done without a pause: ``prompt`` tokens were read and ``tokens`` decoded in ``seconds``."""

    prompt: int
    tokens: int
    seconds: float


class TokenRuntime(Protocol):
    """A loaded model that computes only while ``next_tokens`` runs."""

    def next_tokens(self, context: Sequence[int], count: int, *, ignores_end: bool) -> NextTokens:
        """Return the next tokens after ``context``, at most ``count``. Raises ``ContextFullError`` if there is no room
        for one."""
        ...


class Pacer(Protocol):
    """Decides how long to pause."""

    @property
    def sizes(self) -> PieceSizes:
        """The size of the next piece."""
        ...

    def worked(self, piece: Piece) -> None:
        """Return when the next piece may begin."""
        ...


def decode_in_pieces(
    runtime: TokenRuntime,
    prompt: Sequence[int],
    count: int,
    pacer: Pacer,
    *,
    ignores_end: bool = False,
    cached: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[int, ...]]:
    """Read ``prompt``, decode at most ``count`` tokens after it, and yield the tokens of each piece. The first
    ``cached`` tokens of the prompt, fewer than all, were read before. Raises ``ContextFullError`` before the first
    token if the prompt leaves no room."""
    read = cached
    while len(prompt) - read > (size := pacer.sizes.prompt):
        started = clock()
        # The token that is decoded here is not used: without one, llama.cpp does not read.
        runtime.next_tokens(prompt[: read + size], 1, ignores_end=True)
        read += size
        pacer.worked(Piece(size, 0, clock() - started))
    context, decoded, is_end = list(prompt), 0, False
    while decoded < count and not is_end:
        wanted = 1 if decoded == 0 else min(pacer.sizes.tokens, count - decoded)
        started = clock()
        try:
            following = runtime.next_tokens(context, wanted, ignores_end=ignores_end)
        except ContextFullError:
            if decoded == 0:
                raise
            return
        seconds = clock() - started
        is_end = following.is_end
        if following.tokens:
            yield following.tokens
        # The last piece of the prompt has the first token, which takes hardly any time after it.
        is_prompt = decoded == 0
        computed = 0 if is_prompt else max(len(following.tokens), 1)  # the end of a text is a token too
        pacer.worked(Piece(len(prompt) - read if is_prompt else 0, computed, seconds))
        context += following.tokens
        decoded += wanted


def measure_token_s(runtime: TokenRuntime, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds per token with a short context and without a pause, which is the highest rate of this
    computer."""
    context = list(range(1, _WARM_PROMPT + 1))
    context += runtime.next_tokens(context, 1, ignores_end=True).tokens
    started = clock()
    following = runtime.next_tokens(context, _WARM_TOKENS, ignores_end=True)
    return (clock() - started) / max(len(following.tokens), 1)
