"""What a program that runs language models gives to Arenite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_MAX_REASON = 300


@dataclass(frozen=True)
class Message:
    """A part of a conversation. ``role`` is "system", "user" or "assistant"."""

    role: str
    text: str

    def to_json(self) -> dict[str, str]:
        """Return the message as the chat requests of all runtimes have it."""
        return {"role": self.role, "content": self.text}


def reason_of(error: Exception) -> str:
    """Return the first line of what a runtime says of a failure, as a sentence."""
    lines = str(error).strip().splitlines() or ["no reason is given"]
    return lines[0][:_MAX_REASON].rstrip(".") + "."


class ContextFullError(Exception):
    """The conversation is longer than the context."""


@dataclass(frozen=True)
class RuntimeOptions:
    """How a model runs. ``runtime``: a name in language_model.py. ``context``: the tokens for which the cache has room.
    ``cache_type``: the type of the cache, if the runtime can choose it. ``threads``: None for the runtime's choice.
    ``has_log``: write the runtime's log to standard error."""

    runtime: str
    path: Path
    context: int
    cache_type: str
    threads: int | None = None
    has_log: bool = False


class ChatRuntime(Protocol):
    """A loaded model that continues conversations."""

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        """Yield the answer to ``conversation`` in pieces as they are decoded, usually one per token, and at most
        ``max_tokens`` tokens. Raises ``ContextFullError`` before the first piece if the context has no room."""
        ...

    def close(self) -> None:
        """Free the memory of the model."""
        ...


class BenchRuntime(ChatRuntime, Protocol):
    """A loaded model that can be measured."""

    @property
    def threads(self) -> int | None:
        """The threads that compute, or None if the log tells them."""
        ...

    def decode(self, prompt: Sequence[int], tokens: int) -> Iterator[int]:
        """Decode ``tokens`` tokens after the tokens ``prompt``, and yield their number so far, if possible after each.
        The end of a text does not stop it. The part of a prompt that the last one had too is not computed again.

        Raises ``ContextFullError`` if the prompt leaves no room.
        """
        ...

    def cache_bytes(self) -> int | None:
        """Return the bytes that the cache has after ``decode``, or None if the log tells them."""
        ...
