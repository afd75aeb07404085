"""Tests of conversations: what is remembered and forgotten, and a run of a real model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.host.llm.chat import Conversation
from arenite.host.llm.free_memory import available_bytes
from arenite.host.llm.runtime import ContextFullError, Message
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.smollm2 import smollm2


class Parrot:
    """A runtime that repeats the last message word by word, with a context of ``words`` words."""

    def __init__(self, words: int) -> None:
        self.words, self.heard = words, list[list[Message]]()

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        if sum(len(message.text.split()) for message in conversation) > self.words:
            raise ContextFullError
        self.heard.append(list(conversation))
        yield from (f"{word} " for word in conversation[-1].text.split()[:max_tokens])

    def close(self) -> None:
        self.heard.clear()


def test_answers_are_remembered_and_counted() -> None:
    parrot = Parrot(100)
    conversation = Conversation(parrot, "Be brief.")
    assert list(conversation.ask("one two three", 2)) == ["one ", "two "]
    assert "".join(conversation.ask("four", 9)) == "four "
    assert [(m.role, m.text) for m in parrot.heard[-1]] == [
        ("system", "Be brief."), ("user", "one two three"), ("assistant", "one two "), ("user", "four"),
    ]  # fmt: skip
    figures = conversation.figures
    assert figures is not None and (figures.pieces, figures.forgotten) == (1, 0)
    assert 0 < figures.first_s <= figures.total_s and figures.pieces_per_s == 0


def test_the_oldest_question_is_forgotten_but_not_the_instruction() -> None:
    parrot = Parrot(9)
    conversation = Conversation(parrot, "Be brief.")
    for question in ("one two", "three four", "five six"):
        list(conversation.ask(question, 9))
    assert [m.text.strip() for m in parrot.heard[-1]] == ["Be brief.", "three four", "three four", "five six"]
    assert conversation.figures is not None and conversation.figures.forgotten == 2


def test_a_question_longer_than_the_context_is_refused_and_not_remembered() -> None:
    parrot = Parrot(5)
    conversation = Conversation(parrot)
    with pytest.raises(UsageError, match="longer than the context"):
        list(conversation.ask("one two three four five six", 9))
    list(conversation.ask("seven", 9))
    assert [m.text for m in parrot.heard[-1]] == ["seven"]


def test_an_answer_that_is_not_read_is_forgotten() -> None:
    parrot = Parrot(50)
    conversation = Conversation(parrot)
    next(conversation.ask("one two", 9))
    list(conversation.ask("three", 9))
    assert [m.text for m in parrot.heard[-1]] == ["three"]


def test_free_memory_is_read_where_the_system_tells_it(tmp_path: Path) -> None:
    assert available_bytes(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       24000000 kB\nMemAvailable:   1000000 kB\n")
    assert available_bytes(tmp_path) == 1_024_000_000


def test_llama_cpp_refuses_a_model_without_layers(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="runs llama.cpp")
    from arenite.host.llm.llama_cpp_runtime import LlamaCppOptions, LlamaCppRuntime

    with pytest.raises(ToolError, match=r"cannot load m\.gguf"):
        LlamaCppRuntime(LlamaCppOptions(small_llama().write(tmp_path / "m.gguf"), 256))


@pytest.mark.slow
@pytest.mark.parametrize("cache_type", ["f16", "q8_0"])
def test_a_real_model_answers_and_forgets(cache_type: str) -> None:
    pytest.importorskip("xllamacpp", reason="runs llama.cpp")
    from arenite.host.llm.llama_cpp_runtime import LlamaCppOptions, LlamaCppRuntime

    path = smollm2()
    runtime = LlamaCppRuntime(LlamaCppOptions(path, 256, cache_type, threads=1))
    try:
        conversation = Conversation(runtime)
        answer = "".join(conversation.ask("What is the capital of France? One word.", 24))
        assert "Paris" in answer
        assert conversation.figures is not None and 1 < conversation.figures.pieces <= 24
        for _ in range(3):  # three times 100 words are more than the context
            list(conversation.ask("word " * 100, 4))
        assert conversation.figures.forgotten > 0
        with pytest.raises(UsageError, match="longer than the context"):
            list(conversation.ask("word " * 400, 4))
        unread = conversation.ask("Count to a million.", 200)
        next(unread)
        unread.close()  # llama.cpp stops, so the next answer can begin
        assert "".join(conversation.ask("What is the capital of France? One word.", 24))
    finally:
        runtime.close()


@pytest.mark.slow
def test_a_real_model_that_is_closed_at_once_ends() -> None:
    """A server of llama.cpp that is destroyed before its loop runs would wait forever, in about one of four cases."""
    pytest.importorskip("xllamacpp", reason="runs llama.cpp")
    program = (
        "import sys; from pathlib import Path\n"
        "from arenite.host.llm.llama_cpp_runtime import LlamaCppOptions, LlamaCppRuntime\n"
        "for _ in range(12): LlamaCppRuntime(LlamaCppOptions(Path(sys.argv[1]), 256, threads=1)).close()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(smollm2())], check=True, timeout=600)
