"""Checks before a language model is loaded."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import DoesNotFitError, UsageError
from arenite.host.llm.budget.options import BudgetOptions
from arenite.host.llm.free_memory import available_bytes
from arenite.host.llm.language_model import LLAMA_CPP, LanguageModel
from arenite.host.llm.memory import longest_context, predict_memory
from arenite.host.llm.prediction import read_language_model
from arenite.host.llm.resident_memory import resident_bytes
from arenite.host.llm.zoo_models import language_model_path, zoo_language_models
from arenite.profiles.hosts import detect_host


def check_memory(
    model: Path,
    asked_context: int | None,
    asked_cache_type: str | None,
    slots: int = 1,
    more_mib: int = 0,
    memory_mb: float | None = None,
) -> LanguageModel:
    """Return what the header of ``model`` describes: a file, a folder, or the name of a language model of the zoo,
    which is downloaded if the cache does not have it.

    ``asked_context`` and ``asked_cache_type``: see ``LanguageModel.context_length`` and ``cache_type``. ``slots`` is
    the number of contexts, ``more_mib`` is memory that is needed besides, and ``memory_mb`` the most MB that all may
    take, or None.

    Raises:
        UsageError: It is another file or another model of the zoo, was made for a shorter context, or has another type
            of cache.
        ToolError: The model could not be downloaded, or there is a budget of memory, but this system does not tell the
            memory of a process.
        DoesNotFitError: The model needs more memory than this computer has free, or than ``memory_mb``.
    """
    path = language_model_path(model)
    if path.suffix.lower() not in (".gguf", ".litertlm") and not path.is_dir():
        raise UsageError(
            f"{path.name} is no .gguf or .litertlm file, and no folder.",
            "Give the file of a language model with its weights, a folder for ONNX Runtime GenAI, or the name of one "
            f"of the zoo: {', '.join(zoo_language_models())}.",
        )
    if memory_mb is not None:
        resident_bytes()  # which the budget is compared with: an error where the system does not tell it
    described = read_language_model(path)
    cache_type = described.cache_type(asked_cache_type)
    context = described.context_length(asked_context)
    check_free_memory(described, context, cache_type, slots, more_mib, memory_mb)
    return described


def require_pauses(model: LanguageModel, budget: BudgetOptions) -> None:
    """Raise ``UsageError`` if ``budget`` has a limit of power or temperature, and the runtime of ``model`` cannot
    pause."""
    if budget.is_governed and model.runtime != LLAMA_CPP:
        raise UsageError(
            f"{model.path.name} is a model for {model.runtime}, which cannot pause between tokens to keep --budget.",
            "Give a .gguf file, or leave out --budget. --memory-budget works with every runtime.",
        )


def check_free_memory(
    model: LanguageModel,
    context: int,
    cache_type: str,
    slots: int = 1,
    more_mib: int = 0,
    memory_mb: float | None = None,
) -> None:
    """Raise ``DoesNotFitError`` if the model needs more memory than this computer has free, or than ``memory_mb``. The
    arguments are those of ``check_memory``. Where the system does not tell its free memory, only ``memory_mb`` is
    checked."""
    host, free = detect_host(), available_bytes()
    budget = None if memory_mb is None else round(memory_mb * 1e6)
    has_small_budget = budget is not None and (free is None or budget < free)
    limit = budget if has_small_budget else free
    if limit is None:
        return
    limit -= more_mib << 20
    need = predict_memory(model, host, context * slots, cache_type)
    if need.total <= limit:
        return
    size_gib = max(limit, 0) / 2**30 + host.memory.reserved_gib
    longest = longest_context(model, host, cache_type, size_gib) // slots
    if longest:
        hint = f"Give --context {longest} or less."
    elif has_small_budget:
        hint = "Take a smaller quantization, or give a larger --memory-budget."
    else:
        hint = "Take a smaller quantization, or end other programs."
    free_mb = f"{limit / 1e6:,.1f} MB"
    numbers = f"--memory-budget allows {free_mb}" if has_small_budget else f"{free_mb} are free"
    raise DoesNotFitError(
        f"{model.path.name} needs about {need.total / 1e6:,.1f} MB with a context of {context:,} tokens, but "
        f"{numbers}.",
        hint,
    )
