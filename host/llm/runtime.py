"""What a program that runs language models gives to Arenite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Message:
    """A part of a conversation. ``role`` is "system", "user" or "assistant"."""

    role: str
    text: str


class ContextFullError(Exception):
    """The conversation is longer than the context."""


class ChatRuntime(Protocol):
    """A loaded model that continues conversations."""

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        """Yield the answer to ``conversation`` in pieces as they are decoded, usually one per token, and at most
        ``max_tokens`` tokens. Raises ``ContextFullError`` before the first piece if the context has no room."""
        ...

    def close(self) -> None:
        """Free the memory of the model."""
        ...
