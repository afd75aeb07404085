"""A conversation with a model, which forgets its oldest parts if the context is full."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass

from arenite.errors import UsageError
from arenite.host.llm.runtime import ChatRuntime, ContextFullError, Message


@dataclass(frozen=True)
class ReplyFigures:
    """What was measured in one answer: its ``pieces`` (tokens, except for characters of several tokens), the seconds
    until the first one, and those of the complete answer. ``forgotten``: earlier messages that were dropped."""

    pieces: int
    first_s: float
    total_s: float
    forgotten: int

    @property
    def pieces_per_s(self) -> float:
        """The rate after the first piece, or 0 if there is no second one."""
        decode_s = self.total_s - self.first_s
        return (self.pieces - 1) / decode_s if self.pieces > 1 and decode_s > 0 else 0.0


class Conversation:
    """A conversation with the model in ``runtime``. ``system`` is an instruction that is never forgotten, or ""."""

    def __init__(self, runtime: ChatRuntime, system: str = "") -> None:
        self._runtime = runtime
        self._start = [Message("system", system)] if system else []
        self._messages: list[Message] = []
        self.figures: ReplyFigures | None = None

    def ask(self, question: str, max_tokens: int) -> Generator[str]:
        """Yield the pieces of the answer to ``question``. ``figures`` has its measurements afterwards.

        Raises ``UsageError`` if the question alone is longer than the context. An answer that is not read to its end
        is forgotten with its question.
        """
        messages = [*self._messages, Message("user", question)]
        started, first_s, pieces, forgotten = time.monotonic(), 0.0, list[str](), 0
        while True:
            try:
                for piece in self._runtime.reply([*self._start, *messages], max_tokens):
                    first_s = first_s or time.monotonic() - started
                    pieces.append(piece)
                    yield piece
                break
            except ContextFullError as error:
                if len(messages) == 1:
                    raise UsageError(
                        "The question is longer than the context.", "Shorten it, or give a larger --context."
                    ) from error
                del messages[:2]  # the oldest question and its answer
                forgotten += 2
        self._messages = [*messages, Message("assistant", "".join(pieces))]
        self.figures = ReplyFigures(len(pieces), first_s, time.monotonic() - started, forgotten)
