"""``arenite chat``: talk with a language model in the terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.host.cli.ending_signals import cleaned_up_after_sigterm
from arenite.host.cli.language_model.loading import check_memory, require_pauses
from arenite.host.cli.language_model.options import (
    budget_options,
    cache_type_option,
    context_option,
    model_argument,
    threads_option,
)
from arenite.host.llm.budget.instruments import open_instruments
from arenite.host.llm.budget.memory_watch import MemoryWatch
from arenite.host.llm.budget.open import budget_result, open_token_budget
from arenite.host.llm.budget.options import BudgetOptions
from arenite.host.llm.budget.paced_chat import PacedChat
from arenite.host.llm.budget.pieces import measure_token_s
from arenite.host.llm.chat import Conversation
from arenite.host.llm.llama_cpp_runtime import LlamaCppRuntime
from arenite.host.llm.llama_cpp_tokens import LlamaCppTokens
from arenite.host.llm.resident_memory import resident_bytes
from arenite.host.llm.runtime import ChatRuntime, RuntimeOptions
from arenite.host.llm.runtimes import open_runtime
from arenite.host.report.console import note
from arenite.printable import printable_lines

#: A conversation is ended by one of these lines, or by the end of the input.
_ENDS = ("/exit", "/quit")


@click.command()
@model_argument
@click.option(
    "--prompt", metavar="TEXT", help="Answer this question and end. Default: read questions, one per line."
)
@click.option(
    "--system", default="", metavar="TEXT", help="Instruction for the model before the conversation."
)
@context_option("Tokens that the model remembers. The oldest questions are forgotten if it is full.")
@cache_type_option
@threads_option
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    metavar="TOKENS",
    help="The longest answer.",
)
@budget_options
def chat(
    model: Path,
    prompt: str | None,
    system: str,
    asked_context: int | None,
    cache_type: str | None,
    threads: int | None,
    max_tokens: int,
    budget: BudgetOptions,
) -> int:
    """Talk with MODEL, a language model, in the terminal.

    MODEL is a .gguf file, which llama.cpp runs, a .litertlm file, which LiteRT-LM runs, a folder with the file
    genai_config.json, which ONNX Runtime GenAI runs, or the name of a language model of the zoo, such as smollm2_135m,
    which is downloaded once.

    Answers go to standard output while they are decoded. After each, standard error shows the measured time to the
    first token and the tokens per second. The lines /exit and /quit end the conversation.

    The model is not loaded if its predicted memory is more than this computer has free. With a budget, standard error
    shows at the end what was held, and the exit code is 1 if a limit was not kept. Needs the package xllamacpp
    (pip install 'arenite[llm]'), litert-lm-api ('arenite[llm-litert]') or onnxruntime-genai ('arenite[llm-onnx]').
    """
    _require_text(system, "The text of --system")
    if prompt is not None:
        _require_text(prompt, "The text of --prompt")
    described = check_memory(model, asked_context, cache_type, memory_mb=budget.memory_mb)
    require_pauses(described, budget)
    instruments = open_instruments(budget) if budget.is_governed else None
    context, cache = described.context_length(asked_context), described.cache_type(cache_type)
    options = RuntimeOptions(described.runtime, described.path, context, cache, threads)
    with cleaned_up_after_sigterm(), contextlib.ExitStack() as stack:
        loaded = stack.enter_context(contextlib.closing(open_runtime(options)))
        runtime: ChatRuntime = loaded
        governed = None
        if instruments is not None:
            for sentence in instruments.notes:
                note(sentence)
            assert isinstance(loaded, LlamaCppRuntime)
            tokens = LlamaCppTokens(loaded.port, loaded.key)
            governed = open_token_budget(budget, instruments, measure_token_s(tokens), threads)
            stack.callback(governed.close)
            runtime = PacedChat(tokens, governed, loaded.close)
        conversation, watch = Conversation(runtime, system), MemoryWatch(budget.memory_mb, note)
        result = None
        try:
            if prompt is not None:
                _answer(conversation, prompt, max_tokens)
            else:
                _converse(conversation, max_tokens, watch)
            watch.look()
        finally:  # also after Ctrl-C
            result = budget_result(budget, resident_bytes, governed)
            for sentence in [] if result is None else result.sentences():
                note(sentence)
    return 0 if result is None or result.is_kept else 1


def _require_text(text: str, what: str) -> None:
    """Raise ``UsageError`` if ``text`` has bytes that are not UTF-8, which Python keeps as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} is not valid UTF-8: character {error.start + 1} is a byte of another encoding.",
            "Use a terminal with UTF-8, or convert the text: iconv -t utf-8.",
        ) from error


def _converse(conversation: Conversation, max_tokens: int, watch: MemoryWatch) -> None:
    """Answer the questions of standard input. One that cannot be asked does not end the conversation."""
    for question in _questions():
        try:
            _require_text(question, "The question")
            _answer(conversation, question, max_tokens)
        except UsageError as error:
            note(f"Error: {error.problem}\nTry: {error.hint}")
        watch.look()


def _questions() -> Iterator[str]:
    note("Ask. /exit ends the conversation.")
    for line in sys.stdin:
        question = line.strip()
        if question in _ENDS:
            break
        if question:
            yield question


def _answer(conversation: Conversation, question: str, max_tokens: int) -> None:
    for piece in conversation.ask(question, max_tokens):
        print(printable_lines(piece), end="", flush=True)
    print()
    figures = conversation.figures
    if figures is not None:
        forgotten = f", {figures.forgotten} earlier messages forgotten" if figures.forgotten else ""
        note(
            f"Measured: {figures.pieces} tokens, the first after {figures.first_s:.2f} s, then "
            f"{figures.pieces_per_s:.1f} tokens/s{forgotten}."
        )
