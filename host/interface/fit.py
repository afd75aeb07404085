"""``fit``: predict whether a model fits boards, or a language model fits computers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import overload

from arenite.errors import UsageError
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.interface.build import FitReport, fit_boards
from arenite.host.interface.model import Model
from arenite.host.llm.cache_types import CACHE_TYPES
from arenite.host.llm.prediction import (
    LanguageModelFit,
    fit_language_model,
    is_language_model,
    read_language_model,
)
from arenite.host.llm.quantizations import QUANTIZATIONS
from arenite.host.llm.zoo_models import is_zoo_language_model, language_model_path, zoo_language_models


@overload
def fit(
    model: Model,
    boards: str | Sequence[str] | None = None,
    *,
    build: BuildOptions = DEFAULT_BUILD,
    suggest: bool = False,
    agent: bool = False,
) -> FitReport: ...
@overload
def fit(
    model: str | Path,
    boards: str | Sequence[str],
    *,
    build: BuildOptions = DEFAULT_BUILD,
    suggest: bool = False,
    agent: bool = False,
) -> FitReport: ...
@overload
def fit(
    model: str | Path,
    *,
    hosts: str | Sequence[str],
    context: int | None = None,
    cache_type: str | None = None,
    quantization: str | None = None,
    memory_gib: float | None = None,
) -> LanguageModelFit: ...
@overload
def fit(
    model: str | Path,
    boards: None = None,
    *,
    build: BuildOptions = DEFAULT_BUILD,
    suggest: bool = False,
    agent: bool = False,
    hosts: None = None,
    context: int | None = None,
    cache_type: str | None = None,
    quantization: str | None = None,
    memory_gib: float | None = None,
) -> FitReport | LanguageModelFit: ...
def fit(
    model: Model | str | Path,
    boards: str | Sequence[str] | None = None,
    *,
    build: BuildOptions = DEFAULT_BUILD,
    suggest: bool = False,
    agent: bool = False,
    hosts: str | Sequence[str] | None = None,
    context: int | None = None,
    cache_type: str | None = None,
    quantization: str | None = None,
    memory_gib: float | None = None,
) -> FitReport | LanguageModelFit:
    """Predict whether a model fits boards, its flash, its SRAM, and its time per inference. Nothing is built.

    A language model is a ``.gguf`` file, the ``config.json`` of Hugging Face, or a name of the zoo such as
    ``smollm2_135m``, which is downloaded once. For it, the result is a ``LanguageModelFit`` with its memory, its tokens
    per second and its energy on computers. ``boards``, ``build``, ``suggest`` and ``agent`` are for other models;
    ``hosts`` and what follows are for language models.

    Args:
        model: a loaded model, the path of a model, or the name of a language model.
        boards: the names of boards; None: all known boards that the toolchain and the options in ``build`` are for.
        build: the options of the build.
        suggest: also look for recipes and smaller sizes of the model that would fit the boards that are too small.
        agent: also predict what the agent of a fleet adds; by default on the boards whose firmware may have one.
        hosts: the names of computers, such as ``raspberry_pi_5``; None: all known ones.
        context: the number of tokens in the cache; None: 4096, or the model's own context if that is shorter.
        cache_type: the type of the cache: ``f16`` (the default), ``q8_0`` or ``q4_0``.
        quantization: the quantization of the weights of a ``config.json``; None: ``Q4_K_M``.
        memory_gib: the memory of the hosts in GiB, if it is not that of their profiles.

    Raises:
        ProfileError: a board or a host is unknown.
        UsageError: ``agent`` is true, and there is no firmware with an agent for one of ``boards``; an argument is for
            another kind of model, or outside its range.
        ModelError, UsageError: the model cannot be loaded, or cannot take its input row by row, or the toolchain does
            not build for a board.
        ToolError: a model of the zoo could not be downloaded.
    """
    if isinstance(model, Model) or not _takes_hosts(model):
        if any(value is not None for value in (hosts, context, cache_type, quantization, memory_gib)):
            raise UsageError(
                "hosts, context, cache_type, quantization and memory_gib are for language models.",
                "Give a .gguf file or a config.json, or name boards.",
            )
        return fit_boards(model, boards, build=build, suggest=suggest, agent=agent)
    if boards is not None or build != DEFAULT_BUILD or suggest or agent:
        raise UsageError(
            "boards, build, suggest and agent are for models of microcontrollers, not for language models.",
            "Name computers with hosts.",
        )
    return fit_hosts(model, hosts, context, cache_type, quantization, memory_gib, progress=False)


def _takes_hosts(model: str | Path) -> bool:
    return is_language_model(Path(model)) or is_zoo_language_model(model)


def fit_hosts(
    model: str | Path,
    hosts: str | Sequence[str] | None = None,
    context: int | None = None,
    cache_type: str | None = None,
    quantization: str | None = None,
    memory_gib: float | None = None,
    *,
    progress: bool = True,
) -> LanguageModelFit:
    """Predict memory, speed and energy of a language model. The arguments and errors are those of ``fit``;
    ``progress`` shows a download on standard error."""
    _check("cache_type", cache_type, CACHE_TYPES)
    _check("quantization", quantization, QUANTIZATIONS)
    for name, value in (("context", context), ("memory_gib", memory_gib)):
        if value is not None and not value > 0:
            raise UsageError(f"{name} is {value}.", "Give a number that is larger than 0.")
    path = language_model_path(model, progress=progress)
    try:
        described = read_language_model(path, quantization)
    except OSError as error:
        place = error.filename or path
        raise UsageError(
            f"Cannot read {place}: {error.strerror or error}.",
            f"Check the path, or name a language model of the zoo: {', '.join(zoo_language_models())}."
            if Path(place) == path
            else "A file of the model is missing: download it again.",
        ) from error
    names = [hosts] if isinstance(hosts, str) else hosts
    return fit_language_model(described, names, context, cache_type, memory_gib)


def _check(name: str, value: str | None, choices: Collection[str]) -> None:
    """Raise ``UsageError`` if ``value`` is given and is not one of ``choices``."""
    if value is not None and value not in choices:
        raise UsageError(f"There is no {name} '{value}'.", f"Give one of these: {', '.join(choices)}.")
