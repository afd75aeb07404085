"""``arenite fit`` for language models: predict memory, speed and energy on computers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from arenite.errors import UsageError
from arenite.host.cli.option_types import Number, option_group
from arenite.host.interface.fit import fit_hosts
from arenite.host.llm.cache_types import CACHE_TYPES, DEFAULT_CACHE_TYPE
from arenite.host.llm.prediction import HostPrediction, LanguageModelFit, is_language_model
from arenite.host.llm.quantizations import QUANTIZATIONS
from arenite.host.llm.zoo_models import language_model_path
from arenite.host.report.console import print_json, show, table

__all__ = ["LanguageModelOptions", "fit_language_models", "is_language_model", "language_model_options"]

_GIB, _MIB = 1 << 30, 1 << 20


@dataclass(frozen=True)
class LanguageModelOptions:
    """The options of ``arenite fit`` for language models. None and an empty tuple mean the default."""

    hosts: tuple[str, ...]
    context: int | None
    cache_type: str | None
    quantization: str | None
    memory_gib: float | None

    def check_unused(self) -> None:
        """Raise ``UsageError`` if an option is given, although no language model is."""
        if any(value not in (None, ()) for value in vars(self).values()):
            raise UsageError(
                "--host, --context, --cache-type, --quantization and --memory are for language models.",
                "Give a .gguf or .litertlm file, a config.json or a folder with genai_config.json, or name boards with "
                "--board.",
            )


_options = option_group(
    click.option(
        "--host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help=(
            "Computer to check a language model for, such as raspberry_pi_5. May be given several times. "
            "Default: all known hosts."
        ),
    ),
    click.option(
        "--context",
        type=click.IntRange(min=1),
        metavar="TOKENS",
        help="Tokens that a language model remembers. Default: 4096, or the model's own context if it is shorter.",
    ),
    click.option(
        "--cache-type",
        type=click.Choice(list(CACHE_TYPES)),
        help=(
            f"Type of the cache of keys and values of a .gguf file or config.json. Default: {DEFAULT_CACHE_TYPE}. "
            "Other models decide it."
        ),
    ),
    click.option(
        "--quantization",
        type=click.Choice(list(QUANTIZATIONS)),
        help="Quantization of the weights of a config.json. Default: Q4_K_M. A .gguf file has its own.",
    ),
    click.option(
        "--memory",
        "memory_gib",
        type=Number(min=0.125, max=4096),
        metavar="GIB",
        help="Memory of the hosts in GiB, if it is not that of their profiles.",
    ),
)


def language_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for language models to a command, which receives them as the parameter ``language_model``."""

    @wraps(function)
    def command(*args: Any, **values: Any) -> Any:
        fields = {name: values.pop(name) for name in LanguageModelOptions.__dataclass_fields__}
        return function(*args, language_model=LanguageModelOptions(**fields), **values)

    wrapped: Callable[..., Any] = _options(command)
    return wrapped


def fit_language_models(
    models: Sequence[Path], options: LanguageModelOptions, all_hosts: bool, as_json: bool
) -> int:
    """Show the predictions for ``models``, which are paths or names of the zoo. Return the exit code: 1 if a model does
    not fit a host that was named, else 0."""
    paths = [language_model_path(model) for model in models]
    if others := [path.name for path in paths if not is_language_model(path)]:
        raise UsageError(
            f"{others[0]} is not a language model, but another file is.", "Check them one by one."
        )
    if options.hosts and all_hosts:
        raise UsageError("--host and --all exclude each other.", "Give one of them.")
    fits = [
        fit_hosts(
            path,
            options.hosts or None,
            options.context,
            options.cache_type,
            options.quantization,
            options.memory_gib,
        )
        for path in paths
    ]
    if as_json:
        reports = [report.to_json() for report in fits]
        print_json(reports[0] if len(reports) == 1 else {"schema": "arenite.lm/1", "models": reports})
    else:
        for report in fits:
            show_language_model(report, with_details=bool(options.hosts))
    return 1 if options.hosts and not all(report.fits for report in fits) else 0


def show_language_model(report: LanguageModelFit, with_details: bool) -> None:
    """Show a table with one row per host, those that the model fits first. With ``with_details``, also show what each
    part of the memory takes and what would help."""
    model = report.model
    sign = "" if model.exact else "~"
    title = (
        f"{model.path.name}: {model.architecture.name}, {model.parameters / 1e6:,.1f} M parameters, "
        f"{model.quantization}, weights {sign}{model.weight_bytes:,} B"
    )
    rows = [_row(prediction) for prediction in sorted(report.hosts, key=_order)]
    columns = (
        "host",
        "fits",
        "GiB",
        "of",
        "max context",
        "tokens/s",
        "bound",
        "prompt/s",
        "first s",
        "J/token",
        "tokens/Wh",
    )
    show(table(title, columns, rows))
    show(
        f"Context of {report.context:,} tokens with a cache of type {report.cache_type}: "
        f"{report.kv_bytes_per_token:,} B per token. Rates are those with a full cache; the first token comes after a "
        f"prompt of {report.prompt:,} tokens."
    )
    if with_details:
        for prediction in report.hosts:
            show(*_details(prediction))
    show(
        "Weights and cache are exact, except the weights of a config.json. Everything else is estimated: tokens/s is "
        "the range that runtimes reach, bound is the theoretical bandwidth of the memory (docs/language-models.md)."
    )


def _order(prediction: HostPrediction) -> tuple[bool, float]:
    return not prediction.memory.fits, -prediction.speed.decode


def _row(prediction: HostPrediction) -> tuple[str, ...]:
    memory, speed = prediction.memory, prediction.speed
    return (
        prediction.host.name,
        "yes" if memory.fits else "NO",
        f"{memory.total / _GIB:,.2f}",
        f"{memory.available / _GIB:,.2f}",
        f"{prediction.max_context:,}" if prediction.max_context else "-",
        f"{_rate(speed.decode_low)}-{_rate(speed.decode_high)}",
        _rate(speed.decode_bound),
        _rate(speed.prefill),
        f"{prediction.first_token_s:,.2f}",
        f"{speed.joules_per_token:,.2f}",
        f"{speed.tokens_per_wh:,.0f}",
    )


def _rate(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _details(prediction: HostPrediction) -> list[str]:
    memory = prediction.memory
    verb = "stay free" if memory.fits else "are missing"
    lines = [
        f"{prediction.host.name}: weights {memory.weights / _MIB:,.1f} MiB + cache {memory.kv / _MIB:,.1f} + "
        f"activations ~{memory.activations / _MIB:,.1f} + overhead ~{memory.overhead / _MIB:,.1f}; "
        f"{abs(memory.headroom) / _MIB:,.1f} MiB {verb}."
    ]
    for remedy in prediction.remedies:
        what = {
            "quantization": f"The quantization {remedy.value}",
            "cache": f"--cache-type {remedy.value}",
            "context": f"--context {remedy.value}",
        }[remedy.kind]
        fits = "" if memory.fits else " and fits" if remedy.fits else ", which is not enough"
        lines.append(
            f"{prediction.host.name}: {what} saves {remedy.saved / _MIB:,.1f} MiB{fits}: about "
            f"{_rate(remedy.decode)} tokens/s."
        )
    return lines
