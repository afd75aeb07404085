"""``arenite serve``: serve a language model to programs of this computer."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.host.cli.ending_signals import ending_signals
from arenite.host.cli.language_model.loading import check_memory
from arenite.host.cli.language_model.options import (
    cache_type_option,
    context_option,
    memory_budget_option,
    model_argument,
    threads_option,
)
from arenite.host.llm.budget.memory_watch import MemoryWatch
from arenite.host.llm.language_model import LLAMA_CPP
from arenite.host.llm.llama_cpp_runtime import LlamaCppOptions, LlamaCppRuntime
from arenite.host.report.console import note, show


@click.command()
@model_argument
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port on 127.0.0.1; 0 for a free one.",
)
@context_option("Tokens of one request with its answer.")
@cache_type_option
@threads_option
@click.option(
    "--slots",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Requests that are answered at a time. Each has its own context.",
)
@click.option(
    "--queue",
    type=click.IntRange(0, 1024),
    default=8,
    show_default=True,
    help="Requests that may wait. Others are refused with status 429.",
)
@memory_budget_option
@click.option(
    "--prompt-cache",
    "prompt_cache_mib",
    type=click.IntRange(0, 1 << 20),
    default=0,
    show_default=True,
    metavar="MIB",
    help="Memory for the caches of earlier prompts, besides the last one of each slot.",
)
def serve(
    model: Path,
    port: int,
    asked_context: int | None,
    cache_type: str | None,
    threads: int | None,
    slots: int,
    queue: int,
    prompt_cache_mib: int,
    memory_mb: float | None,
) -> int:
    """Serve MODEL, a language model, to programs of this computer.

    MODEL is a .gguf file, or the name of a language model of the zoo, such as smollm2_135m, which is downloaded once.

    The address takes the requests /v1/chat/completions, /v1/completions and /v1/models of OpenAI's API. A request that
    is longer than the context is refused with status 400. If a client leaves, its request ends. Ctrl-C or SIGTERM ends
    the server.

    The model is not loaded if its predicted memory is more than this computer has free. Needs the packages xllamacpp
    and h11 (pip install 'arenite[llm]').
    """
    described = check_memory(model, asked_context, cache_type, slots, prompt_cache_mib, memory_mb)
    if described.runtime != LLAMA_CPP:
        raise UsageError(
            f"{described.path.name} is a model for {described.runtime}, which `arenite serve` does not use.",
            "Give a .gguf file, or use `arenite chat`.",
        )
    try:
        module = importlib.import_module("arenite.host.llm.completion_server")
    except ImportError as error:
        raise UsageError(
            "Serving a language model needs the package h11, which is not installed.",
            "Install it: pip install 'arenite[llm]'.",
        ) from error
    module.require_free_port(port)  # before the model is loaded, which takes time
    context, cache = described.context_length(asked_context), described.cache_type(cache_type)
    options = LlamaCppOptions(described.path, context, cache, threads, slots, prompt_cache_mib)
    with ending_signals() as ended, contextlib.closing(LlamaCppRuntime(options)) as runtime:
        server = module.CompletionServer(runtime.port, runtime.key, port, slots, queue, note)
        server.start()
        with contextlib.closing(server):
            show(server.url)
            watch = MemoryWatch(memory_mb, note)
            while not ended.wait(1.0):  # a wait without a limit would block signals on Windows
                watch.look()
    return 0
