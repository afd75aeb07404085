"""``arenite bench MODEL`` for language models: measure a language model on this computer."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.cli.ending_signals import cleaned_up_after_sigterm
from arenite.host.cli.language_model.loading import check_free_memory, check_memory, require_pauses
from arenite.host.cli.language_model.options import (
    budget_options,
    cache_type_option,
    context_option,
    model_argument,
    threads_option,
)
from arenite.host.energy.power_sources import open_power
from arenite.host.llm.bench import LanguageModelBench
from arenite.host.llm.budget.instruments import open_instruments
from arenite.host.llm.budget.open import budget_result, open_token_budget
from arenite.host.llm.budget.options import BudgetOptions
from arenite.host.llm.budget.result import BudgetResult
from arenite.host.llm.budget.token_budget import TokenBudget
from arenite.host.llm.calibration import calibrate, calibration_runs, load_calibration, store_calibration
from arenite.host.llm.language_model import LITERT_LM, ONNX_GENAI, LanguageModel
from arenite.host.llm.measurement import Measurement, measure
from arenite.host.report.console import note, print_json, show, table
from arenite.profiles.hosts import HostProfile, detect_host

_MIB = 1 << 20


@click.command("bench")
@model_argument
@context_option("Tokens for which the cache has room.")
@cache_type_option
@threads_option
@click.option(
    "--prompt-tokens",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Length of the prompt. Default: 512, or half of the context if that is less.",
)
@click.option(
    "--tokens",
    type=click.IntRange(min=2),
    metavar="TOKENS",
    default=32,
    show_default=True,
    help="Tokens to decode after the prompt.",
)
@click.option(
    "--calibrate",
    "with_calibration",
    is_flag=True,
    help=(
        "First measure how fast this computer reads weights and cache with this quantization, type of cache and "
        "number of threads, and keep that for later runs."
    ),
)
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(
    model: Path,
    asked_context: int | None,
    cache_type: str | None,
    threads: int | None,
    prompt_tokens: int | None,
    tokens: int,
    with_calibration: bool,
    as_json: bool,
    budget: BudgetOptions,
) -> int:
    """Measure MODEL, a language model, on this computer.

    MODEL is a .gguf file, which llama.cpp runs, a .litertlm file, which LiteRT-LM runs, a folder with the file
    genai_config.json, which ONNX Runtime GenAI runs, or the name of a language model of the zoo, such as smollm2_135m,
    which is downloaded once.

    Shows the time to the first token, the time per token, the memory and the energy beside what `arenite fit`
    predicts. The prompt is random, and the model does not end its answer early. The exit code is 1 if a limit of a
    budget was not kept.

    Needs the package xllamacpp (pip install 'arenite[llm]'), litert-lm-api ('arenite[llm-litert]') or
    onnxruntime-genai ('arenite[llm-onnx]').
    """
    described = check_memory(model, asked_context, cache_type, memory_mb=budget.memory_mb)
    context = described.context_length(asked_context)
    prompt = min(512, context // 2) if prompt_tokens is None else prompt_tokens
    if prompt + tokens > context:
        raise UsageError(
            f"A prompt of {prompt:,} tokens and {tokens:,} more are longer than the context of {context:,}.",
            "Give a larger --context, or smaller --prompt-tokens or --tokens.",
        )
    if with_calibration and budget.is_governed:
        raise UsageError(
            "--calibrate measures without pauses, so it cannot keep --budget.",
            "Calibrate first, and then measure with --budget.",
        )
    if with_calibration and described.runtime == LITERT_LM:
        raise UsageError(
            "A graph of LiteRT-LM reads its complete cache for each token, so the rates of weights and cache cannot be "
            "told apart.",
            "Leave out --calibrate.",
        )
    require_pauses(described, budget)
    host, cache = detect_host(), described.cache_type(cache_type)
    if with_calibration:
        _calibrate(described, host, cache, threads, budget.memory_mb)
    measured, kept = _measure(described, context, cache, threads, (prompt, tokens), budget)
    calibration = load_calibration(described.quantization, cache, measured.threads)
    result = LanguageModelBench(described, host, context, cache, measured, calibration, kept)
    if as_json:
        print_json(result.to_json())
    else:
        _show(result)
    return 0 if kept is None or kept.is_kept else 1


def _measure(
    model: LanguageModel,
    context: int,
    cache_type: str,
    threads: int | None,
    run: tuple[int, int],
    budget: BudgetOptions,
) -> tuple[Measurement, BudgetResult | None]:
    """Measure ``run`` within ``budget``."""
    instruments = open_instruments(budget) if budget.is_governed else None
    for sentence in [] if instruments is None else instruments.notes:
        note(sentence)
    opened = list[TokenBudget]()

    def open_budget(token_s: float) -> TokenBudget:
        assert instruments is not None
        opened.append(open_token_budget(budget, instruments, token_s, threads))
        return opened[-1]

    with cleaned_up_after_sigterm():
        try:
            opener = None if instruments is None else open_budget
            measured = measure(model, context, cache_type, threads, [run], open_power(), note, opener)
            governed = opened[0] if opened else None
            return measured, budget_result(budget, lambda: measured.resident_bytes, governed)
        finally:
            for each in opened:
                each.close()


def _calibrate(
    model: LanguageModel, host: HostProfile, cache_type: str, threads: int | None, memory_mb: float | None
) -> None:
    """Measure and store the rates of this computer."""
    runs = calibration_runs(model)
    context = sum(runs[-1])
    check_free_memory(model, context, cache_type, memory_mb=memory_mb)
    measured = measure(model, context, cache_type, threads, runs, open_power(), note)
    low, high = (
        (run.depth, run.undisturbed_s(measured.threads, host.compute.processor)) for run in measured.runs
    )
    path = store_calibration(calibrate(model, cache_type, measured.threads, (low, high)))
    note(f"Calibration: {path}")


def _show(result: LanguageModelBench) -> None:
    model, run, speed, need = result.model, result.run, result.speed, result.need
    memory, calibration = result.measurement.resident_bytes, result.calibration
    tokens, wh = len(run.token_s) + 1, result.joules_per_token
    calibrated = result.calibrated_tokens_s
    kv = sum(result.measurement.kv_mib)
    rows = [
        ("time to the first token, s", f"{run.first_s:,.3f}", f"~{speed.first_token_s(run.prompt):,.3f}"),
        *(
            (f"time per token, {name}, ms", f"{1e3 * result.percentile_s(percent):,.1f}", "")
            for name, percent in (("median", 50), ("90 %", 90), ("99 %", 99))
        ),
        (
            "tokens/s",
            f"{result.tokens_s:,.1f}",
            f"{speed.decode_low:,.1f} to {speed.decode_high:,.1f}, bound {speed.decode_bound:,.1f}",
        ),
        (
            "tokens/s without other programs",
            f"{result.undisturbed_tokens_s:,.1f}",
            "not calibrated" if calibrated is None else f"{calibrated:,.1f} by calibration",
        ),
        ("memory, MiB", f"{memory / _MIB:,.1f}", f"{need.total / _MIB:,.1f}"),
        ("cache, MiB", f"{kv:,.2f}" if kv else "not told", f"{need.kv / _MIB:,.2f}"),
    ]
    if wh is not None and run.power is not None:
        rows.append((f"J/token ({run.power.kind})", f"{wh:,.2f}", f"{speed.joules_per_token:,.2f}"))
    title = (
        f"{model.path.name} with {model.runtime}: {model.quantization}, context {result.context:,} "
        f"({result.cache_type}), prompt {run.prompt:,}, {tokens:,} tokens, "
        f"{count_of(result.measurement.threads, 'thread')}"
    )
    show(table(title, ("figure", "this computer", f"predicted for {result.host.name}"), rows))
    threads = result.measurement.threads
    if threads < result.host.cores and result.host.compute.processor == "cpu":
        show(
            f"The prediction is for all {result.host.cores} cores of the profile {result.host.name}; "
            f"{count_of(threads, 'thread')} computed here."
        )
    if kv and not result.measurement.kv_matches(need.kv):
        if model.runtime == ONNX_GENAI and kv < need.kv / _MIB:
            show("The cache grows with the text: past_present_share_buffer is off in genai_config.json.")
        else:
            show("The cache is not the predicted one: please report this model.")
    if calibration is None:
        show("With --calibrate, the prediction follows this computer instead of its profile.")
    else:
        show(
            f"Calibrated with {calibration.model}: weights {calibration.weights_gb_s:.2f} GB/s, cache "
            f"{calibration.cache_gb_s:.2f} GB/s. The prediction differs by "
            f"{100 * ((calibrated or 0) / result.undisturbed_tokens_s - 1):+.1f} %."
        )
    if run.power is not None:
        show(f"Power: {run.power.watts:.1f} W, {run.power.kind} ({run.power.source}).")
    for sentence in [] if result.budget is None else result.budget.sentences():
        note(sentence)
