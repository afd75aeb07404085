"""Answer conversations within a budget of power and temperature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Protocol

from arenite.host.llm.budget.pieces import Pacer, TokenRuntime, decode_in_pieces
from arenite.host.llm.runtime import Message

#: What stands for a character of which tokens are missing. It has at most 4 bytes, so also at most 4 tokens.
_INCOMPLETE, _MAX_PARTS = "\ufffd", 4


class TextRuntime(TokenRuntime, Protocol):
    """A loaded model that also knows the text of its tokens."""

    def prompt_of(self, conversation: Sequence[Message]) -> list[int]:
        """Return the tokens of ``conversation`` in the form that the model was trained with."""
        ...

    def text_of(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``. A character of which a part is missing is U+FFFD."""
        ...


class ChatPacer(Pacer, Protocol):
    """A pacer that knows that questions take their time."""

    def resume(self) -> None:
        """Begin to work after a time in which nothing was computed."""
        ...


class PacedChat:
    """A ``ChatRuntime`` that pauses between tokens, as ``pacer`` decides. ``close_runtime`` frees the memory of the
    model."""

    def __init__(self, runtime: TextRuntime, pacer: ChatPacer, close_runtime: Callable[[], None]) -> None:
        self._runtime, self._pacer, self._close = runtime, pacer, close_runtime
        self._cached: list[int] = []  # the tokens that the runtime has in its cache

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        self._pacer.resume()
        prompt = self._runtime.prompt_of(conversation)
        pairs = zip(prompt[:-1], self._cached, strict=False)
        cached = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        # If the caller stops reading, a part of the answer is in the cache, which is read again then.
        self._cached = prompt[:cached]
        answer, pending = list[int](), list[int]()
        for tokens in decode_in_pieces(self._runtime, prompt, max_tokens, self._pacer, cached=cached):
            for token in tokens:
                answer.append(token)
                pending.append(token)
                text = self._runtime.text_of(pending)
                if not text.endswith(_INCOMPLETE) or len(pending) >= _MAX_PARTS:
                    yield text
                    pending.clear()
        if pending:
            yield self._runtime.text_of(pending)
        self._cached = [*prompt, *answer[:-1]]

    def close(self) -> None:
        self._close()
