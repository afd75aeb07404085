"""What a host makes of a language model: memory, rates and energy, as one value with its JSON form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.llm.gguf_model import read_gguf_model
from arenite.host.llm.hugging_face_config import read_config
from arenite.host.llm.kv_cache import kv_bytes_per_token
from arenite.host.llm.language_model import LanguageModel
from arenite.host.llm.litertlm_model import read_litertlm_model
from arenite.host.llm.memory import MemoryNeed, longest_context, predict_memory
from arenite.host.llm.onnx_genai_model import CONFIG, read_genai_folder
from arenite.host.llm.quantizations import DEFAULT_QUANTIZATION, quantized_model
from arenite.host.llm.remedies import Remedy, find_remedies
from arenite.host.llm.speed import Speed, predict_speed
from arenite.profiles.hosts import HostProfile, host_names, load_host

SCHEMA = "arenite.lm/1"
SUFFIXES = (".gguf", ".litertlm", ".json")
#: The prompt of the predicted time to the first token, unless the context is shorter.
PROMPT = 512


@dataclass(frozen=True)
class HostPrediction:
    """A model on one host. ``max_context``: the longest context that fits, or 0."""

    host: HostProfile
    memory: MemoryNeed
    max_context: int
    speed: Speed
    first_token_s: float
    remedies: tuple[Remedy, ...]

    def to_json(self) -> dict[str, Any]:
        speed, memory = self.speed, self.memory
        return {
            "host": self.host.name,
            "fits": memory.fits,
            "max_context": self.max_context,
            "memory": {
                "weights": memory.weights,
                "kv": memory.kv,
                "activations": memory.activations,
                "overhead": memory.overhead,
                "total": memory.total,
                "available": memory.available,
                "headroom": memory.headroom,
            },
            "decode_tokens_s": {
                "bound": speed.decode_bound,
                "low": speed.decode_low,
                "high": speed.decode_high,
                "kind": "estimated",
            },
            "prefill_tokens_s": {
                "value": speed.prefill,
                "low": speed.prefill_low,
                "high": speed.prefill_high,
                "kind": "estimated",
            },
            "first_token_s": {"value": self.first_token_s, "kind": "estimated"},
            "joules_per_token": {"value": speed.joules_per_token, "kind": "estimated"},
            "tokens_per_wh": {"value": speed.tokens_per_wh, "kind": "estimated"},
            "remedies": [
                {
                    "kind": remedy.kind,
                    "value": remedy.value,
                    "saved": remedy.saved,
                    "fits": remedy.fits,
                    "decode_tokens_s": {"value": remedy.decode, "kind": "estimated"},
                }
                for remedy in self.remedies
            ],
        }


@dataclass(frozen=True)
class LanguageModelFit:
    """A model with a context of ``context`` tokens in a cache of type ``cache_type``, on several hosts. ``prompt``: the
    tokens of the prompt before the first token."""

    model: LanguageModel
    context: int
    cache_type: str
    prompt: int
    hosts: tuple[HostPrediction, ...]

    @property
    def fits(self) -> bool:
        """Whether the model fits every host."""
        return all(prediction.memory.fits for prediction in self.hosts)

    @property
    def kv_bytes_per_token(self) -> int:
        return kv_bytes_per_token(self.model.architecture, self.cache_type)

    def to_json(self) -> dict[str, Any]:
        model = self.model
        return {
            "schema": SCHEMA,
            "model": {
                "path": str(model.path),
                "architecture": model.architecture.name,
                "parameters": model.parameters,
                "quantization": model.quantization,
                "weights": model.weight_bytes,
                "exact": model.exact,
                "trained_context": model.architecture.context,
            },
            "context": self.context,
            "cache_type": self.cache_type,
            "prompt": self.prompt,
            "kv_bytes_per_token": self.kv_bytes_per_token,
            "hosts": [prediction.to_json() for prediction in self.hosts],
        }


def is_language_model(path: Path) -> bool:
    """Return whether ``path`` has a suffix of the files that ``read_language_model`` takes, or is a folder with a model
    for ONNX Runtime GenAI."""
    return path.suffix.lower() in SUFFIXES or (path / CONFIG).is_file()


def read_language_model(path: Path, quantization: str | None = None) -> LanguageModel:
    """Return the model that the GGUF file, ``.litertlm`` bundle, ``config.json`` or folder at ``path`` describes.
    ``quantization`` is for the weights of a ``config.json``.

    Raises:
        ModelError: The file is malformed.
        UnsupportedModelError: The format or the architecture is not known.
        UsageError: ``quantization`` is given, but the weights are quantized already.
        OSError: The file cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix == ".json":
        return quantized_model(path, read_config(path), quantization or DEFAULT_QUANTIZATION)
    if quantization is not None:
        raise UsageError(
            f"{path.name} has weights that are quantized already, so --quantization has no effect.",
            "Leave it out, or give the model's config.json.",
        )
    if suffix == ".litertlm":
        return read_litertlm_model(path)
    return read_genai_folder(path) if path.is_dir() else read_gguf_model(path)


def fit_language_model(
    model: LanguageModel,
    hosts: Sequence[str] | None = None,
    context: int | None = None,
    asked_cache_type: str | None = None,
    size_gib: float | None = None,
) -> LanguageModelFit:
    """Predict memory, speed and energy of ``model``.

    ``hosts``: names of profiles; None means all. ``context`` and ``asked_cache_type``: see
    ``LanguageModel.context_length`` and ``cache_type``. Rates are those with a full cache. ``size_gib``: the memory of
    the hosts, instead of that in their profiles.

    Raises:
        ProfileError: A host has no profile.
        UsageError: The context is longer than that of the training, or the model has another type of cache.
    """
    cache_type = model.cache_type(asked_cache_type)
    tokens = model.context_length(context)
    prompt = min(PROMPT, tokens)
    predictions = []
    for name in host_names() if hosts is None else hosts:
        host = load_host(name)
        speed = predict_speed(model, host, tokens, cache_type)
        predictions.append(
            HostPrediction(
                host=host,
                memory=predict_memory(model, host, tokens, cache_type, size_gib),
                max_context=longest_context(model, host, cache_type, size_gib),
                speed=speed,
                first_token_s=speed.first_token_s(prompt),
                remedies=tuple(find_remedies(model, host, tokens, cache_type, size_gib)),
            )
        )
    return LanguageModelFit(model, tokens, cache_type, prompt, tuple(predictions))
