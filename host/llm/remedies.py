"""Find changes with which a model fits a host or runs faster: another quantization or cache, a shorter context."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.host.llm.cache_types import CACHE_TYPES
from arenite.host.llm.language_model import LLAMA_CPP, LanguageModel
from arenite.host.llm.memory import longest_context, predict_memory
from arenite.host.llm.quantizations import QUANTIZATIONS, quantized_model
from arenite.host.llm.speed import predict_speed
from arenite.profiles.hosts import HostProfile

#: The models whose weights are computed for other quantizations.
_COMPUTED = ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "smollm3")


@dataclass(frozen=True)
class Remedy:
    """A change. ``kind`` is "quantization", "cache" or "context" and ``value`` the new one. ``saved``: the bytes of
    memory that it saves. ``fits``: whether the model fits with this change alone. ``decode``: the middle of the
    predicted rates with it, in tokens per second."""

    kind: str
    value: str
    saved: int
    fits: bool
    decode: float


def find_remedies(
    model: LanguageModel, host: HostProfile, context: int, cache_type: str, size_gib: float | None
) -> list[Remedy]:
    """Return the changes that save memory, one of each kind: the first that makes the model fit, or else the one that
    saves most. If the model fits, the changes are those to the next smaller quantization and cache."""
    now = predict_memory(model, host, context, cache_type, size_gib)

    def remedy(kind: str, value: str, changed: LanguageModel, tokens: int, cache: str) -> Remedy:
        need = predict_memory(changed, host, tokens, cache, size_gib)
        rate = predict_speed(changed, host, tokens, cache).decode
        return Remedy(kind, value, now.total - need.total, need.fits, rate)

    names = [] if model.fixed_cache_type else list(CACHE_TYPES)[list(CACHE_TYPES).index(cache_type) + 1 :]
    caches = [remedy("cache", name, model, context, name) for name in names]
    quantizations: list[Remedy] = []
    if model.runtime == LLAMA_CPP and model.architecture.name in _COMPUTED and not model.architecture.experts:
        quantizations = [
            remedy("quantization", name, changed, context, cache_type)
            for name in QUANTIZATIONS
            if (changed := quantized_model(model.path, model.architecture, name)).weight_bytes
            < 0.97 * model.weight_bytes
        ]
    contexts = []
    if not now.fits and 0 < (longest := longest_context(model, host, cache_type, size_gib)) < context:
        contexts = [remedy("context", str(longest), model, longest, cache_type)]
    return [_best(group, now.fits) for group in (quantizations, caches, contexts) if group]


def _best(group: list[Remedy], already_fits: bool) -> Remedy:
    if already_fits:
        return group[0]
    return next((remedy for remedy in group if remedy.fits), max(group, key=lambda remedy: remedy.saved))
