"""``arenite chat``: talk with a language model in the terminal."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from arenite.host.cli.language_model.loading import check_memory
from arenite.host.cli.language_model.options import (
    cache_type_option,
    context_option,
    model_argument,
    threads_option,
)
from arenite.host.llm.chat import Conversation
from arenite.host.llm.runtime import RuntimeOptions
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
def chat(
    model: Path,
    prompt: str | None,
    system: str,
    context: int,
    cache_type: str | None,
    threads: int | None,
    max_tokens: int,
) -> int:
    """Talk with MODEL, a language model, in the terminal.

    MODEL is a .gguf file, which llama.cpp runs, a .litertlm file, which LiteRT-LM runs, or a folder with the file
    genai_config.json, which ONNX Runtime GenAI runs.

    Answers go to standard output while they are decoded. After each, standard error shows the measured time to the
    first token and the tokens per second. The lines /exit and /quit end the conversation.

    The model is not loaded if its predicted memory is more than this computer has free. Needs the package
    xllamacpp (pip install 'arenite[llm]'), litert-lm-api ('arenite[llm-litert]') or onnxruntime-genai
    ('arenite[llm-onnx]').
    """
    described = check_memory(model, context, cache_type)
    options = RuntimeOptions(described.runtime, model, context, described.cache_type(cache_type), threads)
    with contextlib.closing(open_runtime(options)) as runtime:
        conversation = Conversation(runtime, system)
        if prompt is not None:
            _answer(conversation, prompt, max_tokens)
            return 0
        note("Ask. /exit ends the conversation.")
        for line in sys.stdin:
            question = line.strip()
            if question in _ENDS:
                break
            if question:
                _answer(conversation, question, max_tokens)
    return 0


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
