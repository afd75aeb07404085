"""Checks before a language model is loaded."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import DoesNotFitError, UsageError
from arenite.host.llm.free_memory import available_bytes
from arenite.host.llm.language_model import LanguageModel
from arenite.host.llm.memory import longest_context, predict_memory
from arenite.host.llm.prediction import read_language_model
from arenite.profiles.hosts import detect_host


def check_memory(
    path: Path, context: int, asked_cache_type: str | None, slots: int = 1, more_mib: int = 0
) -> LanguageModel:
    """Return what the header of the file or the folder ``path`` describes. ``asked_cache_type``: see
    ``LanguageModel.cache_type``. ``slots`` is the number of contexts, and ``more_mib`` is memory that is needed
    besides.

    Raises:
        UsageError: It is another file, was made for a shorter context, or has another type of cache.
        DoesNotFitError: The model needs more memory than this computer has free.
    """
    if path.suffix.lower() not in (".gguf", ".litertlm") and not path.is_dir():
        raise UsageError(
            f"{path.name} is no .gguf or .litertlm file, and no folder.",
            "Give the file of a language model with its weights, or a folder for ONNX Runtime GenAI.",
        )
    model = read_language_model(path)
    cache_type = model.cache_type(asked_cache_type)
    if context > model.architecture.context:
        raise UsageError(
            f"{path.name} was made for a context of {model.architecture.context:,} tokens.",
            f"Give --context {model.architecture.context} or less.",
        )
    check_free_memory(model, context, cache_type, slots, more_mib)
    return model


def check_free_memory(
    model: LanguageModel, context: int, cache_type: str, slots: int = 1, more_mib: int = 0
) -> None:
    """Raise ``DoesNotFitError`` if the model needs more memory than this computer has free. The arguments are those of
    ``check_memory``. Where the system does not tell its free memory, nothing is checked."""
    host, free = detect_host(), available_bytes()
    if free is None:
        return
    free -= more_mib << 20
    need = predict_memory(model, host, context * slots, cache_type)
    if need.total > free:
        size_gib = max(free, 0) / 2**30 + host.memory.reserved_gib
        longest = longest_context(model, host, cache_type, size_gib) // slots
        hint = (
            f"Give --context {longest} or less."
            if longest
            else "Take a smaller quantization, or end other programs."
        )
        raise DoesNotFitError(
            f"{model.path.name} needs about {need.total:,} bytes for its context, but {free:,} are free.",
            hint,
        )
