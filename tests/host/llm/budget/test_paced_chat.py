"""Tests of paced answers: whole characters, and only the new part of a conversation is read."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.host.llm.budget.paced_chat import PacedChat
from arenite.host.llm.budget.pieces import NextTokens, Piece, PieceSizes
from arenite.host.llm.chat import Conversation
from arenite.host.llm.runtime import Message


class ByteModel:
    """A runtime whose tokens are the bytes of UTF-8. It always says ``answer``, after which the text ends with 0."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def prompt_of(self, conversation: Sequence[Message]) -> list[int]:
        return [byte for message in conversation for byte in (*message.text.encode(), 0)]

    def text_of(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode("utf-8", "replace")

    def next_tokens(self, context: Sequence[int], count: int, *, ignores_end: bool) -> NextTokens:
        said = len(context) - 1 - max((i for i, token in enumerate(context) if token == 0), default=-1)
        tokens = tuple(self._answer[said : said + count])
        return NextTokens(tokens, len(tokens) < count)


class Counter:
    """A pacer that does not pause, and counts the tokens of prompts that are read."""

    sizes = PieceSizes(16, 3)

    def __init__(self) -> None:
        self.read = self.resumed = 0

    def worked(self, piece: Piece) -> None:
        self.read += piece.prompt

    def resume(self) -> None:
        self.resumed += 1


def test_characters_of_several_tokens_are_not_divided() -> None:
    chat = PacedChat(ByteModel("Zürich: 😀!".encode()), Counter(), lambda: None)
    pieces = list(chat.reply([Message("user", "Where?")], 50))
    assert pieces == ["Z", "ü", "r", "i", "c", "h", ":", " ", "😀", "!"]
    assert list(chat.reply([Message("user", "Where?")], 2)) == ["Z", "\ufffd"]


def test_bytes_that_are_no_text_do_not_hold_the_rest_back() -> None:
    chat = PacedChat(ByteModel(b"\xff\xff\xff\xff\xffab"), Counter(), lambda: None)
    assert list(chat.reply([Message("user", "x")], 50)) == ["\ufffd" * 4, "\ufffda", "b"]


def test_only_the_new_part_of_a_conversation_is_read() -> None:
    pacer = Counter()
    conversation = Conversation(PacedChat(ByteModel(b"yes"), pacer, lambda: None))
    list(conversation.ask("a" * 40, 10))
    assert pacer.read == 41
    list(conversation.ask("b" * 5, 10))
    # The last token of the answer was not computed: it and its end come before the question and its end.
    assert pacer.read == 41 + 2 + 6 and pacer.resumed == 2
    unread = conversation.ask("c" * 20, 10)
    next(unread)
    unread.close()
    list(conversation.ask("d", 10))
    assert pacer.resumed == 4
