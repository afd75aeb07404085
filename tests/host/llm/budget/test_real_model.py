"""A real model within a budget: llama.cpp rests while nobody asks it, and the answers stay the same."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.host.governor.interface import Limits
from arenite.host.llm.budget.paced_chat import PacedChat
from arenite.host.llm.budget.pieces import Piece, PieceSizes, decode_in_pieces, measure_token_s
from arenite.host.llm.chat import Conversation
from arenite.host.llm.llama_cpp_runtime import LlamaCppOptions, LlamaCppRuntime
from arenite.host.llm.llama_cpp_tokens import LlamaCppTokens
from arenite.host.llm.runtime import ContextFullError, Message
from benchmarks.language_models.simulated_computer import SimulatedComputer, SimulatedWork
from tests.host.llm.smollm2 import smollm2

pytestmark = pytest.mark.slow
QUESTION = "Write one sentence about a café in Zürich, with a smiling emoji at the end."


@contextlib.contextmanager
def loaded(context: int) -> Iterator[LlamaCppRuntime]:
    pytest.importorskip("xllamacpp", reason="runs llama.cpp")
    path = smollm2()
    with contextlib.closing(LlamaCppRuntime(LlamaCppOptions(path, context, threads=1))) as runtime:
        yield runtime


class Rests:
    """A pacer that rests ``seconds`` after each piece, and measures the processor time of work and of rests."""

    sizes = PieceSizes(16, 4)

    def __init__(self, seconds: float) -> None:
        self.seconds, self.working_s, self.resting_s, self.pieces = seconds, 0.0, 0.0, 0
        self._since = time.process_time()

    def worked(self, piece: Piece) -> None:
        self.pieces += 1
        before = time.process_time()
        self.working_s += before - self._since
        time.sleep(self.seconds)
        self._since = time.process_time()
        self.resting_s += self._since - before


class ChatWork(SimulatedWork):
    """Simulated work that waits for questions."""

    def resume(self) -> None:
        self._budget.resume()


def test_the_processor_rests_in_a_pause() -> None:
    """An ordinary request does not pause: llama.cpp decodes on while the reader sleeps."""
    with loaded(512) as runtime:
        requests, rests = LlamaCppTokens(runtime.port, runtime.key), Rests(0.5)
        prompt = list(range(1, 101))
        paced = [
            token
            for piece in decode_in_pieces(requests, prompt, 25, rests, ignores_end=True)
            for token in piece
        ]
        assert rests.pieces == 6 + 7 and len(paced) == 25
        assert rests.resting_s < 0.05 * rests.working_s
        # The pieces continue each other: at once, the same tokens follow.
        assert requests.next_tokens(prompt, 25, ignores_end=True).tokens == tuple(paced)
        before = time.process_time()
        for count in runtime.decode(list(range(1, 60)), 40):
            if count == 1:
                started = time.process_time()
                time.sleep(0.5)
                ahead_s = time.process_time() - started
        assert ahead_s > 0.1 * (started - before)


def test_a_paced_answer_is_the_same_and_its_context_is_kept(tmp_path: Path) -> None:
    with loaded(512) as runtime:
        free = Conversation(runtime)
        expected = ["".join(free.ask(QUESTION, 60)), "".join(free.ask("Now in German.", 40))]
        computer = SimulatedComputer("jetson_nano", 0.1, tmp_path)
        requests = LlamaCppTokens(runtime.port, runtime.key)
        budget = computer.budget(Limits(power_w=4.0))
        work = ChatWork(computer, budget)
        chat = PacedChat(requests, work, runtime.close)
        paced = Conversation(chat)
        answers = ["".join(paced.ask(QUESTION, 60))]
        first = sum(piece.prompt for piece in work.pieces)
        answers.append("".join(paced.ask("Now in German.", 40)))
        assert answers == expected
        # Of the second prompt, only what follows the first answer is read.
        whole = requests.prompt_of(
            [Message("user", QUESTION), Message("assistant", answers[0]), Message("user", "Now in German.")]
        )
        assert sum(piece.prompt for piece in work.pieces) - first < len(whole) - first
        result = budget.result()
        assert result.pauses > 0 and result.lost is not None and result.lost > 0
        with pytest.raises(ContextFullError):
            list(chat.reply([Message("user", "word " * 600)], 4))


def test_a_power_limit_is_kept_while_a_real_model_decodes(tmp_path: Path) -> None:
    with loaded(1024) as runtime:
        requests = LlamaCppTokens(runtime.port, runtime.key)
        assert measure_token_s(requests) > 0
        computer = SimulatedComputer("jetson_nano", 0.1, tmp_path)
        budget = computer.budget(Limits(power_w=4.0))
        work = SimulatedWork(computer, budget)
        tokens = sum(
            len(piece) for piece in decode_in_pieces(requests, range(1, 201), 400, work, ignores_end=True)
        )
        half = computer.watts[len(computer.watts) // 2 :]
        assert tokens == 400 and 0.85 * 4.0 < sum(half) / len(half) <= 4.0
        assert [check.kept for check in budget.checks()] == [True]
