"""Read the architecture of a model from its ``config.json`` on Hugging Face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arenite.errors import ModelError, UnsupportedModelError
from arenite.host.llm.architecture import MAX_LAYERS, Architecture, AttentionLayer, window_pattern
from arenite.host.llm.config_fields import ConfigFields
from arenite.input_files import parse_json, read_bytes

#: The values of ``model_type`` that are known, and the names of their architectures in GGUF files.
MODEL_TYPES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "gemma3_text": "gemma3",
    "phi3": "phi3",
    "smollm3": "smollm3",
}
#: The architectures whose output matrix is the embedding if the file does not tell: the default of their classes in
#: the package transformers.
_TIED_BY_DEFAULT = ("gemma", "gemma2", "gemma3", "smollm3")
_HINT = "Download config.json of the model again."


def read_config(path: Path) -> Architecture:
    """Return the architecture that the file ``config.json`` at ``path`` describes.

    Raises:
        ModelError: The file is not JSON, or a field is missing or not possible; the message names it.
        UnsupportedModelError: The type of the model is not known.
        OSError: The file cannot be read.
    """
    try:
        data = parse_json(read_bytes(path))
    except ValueError as error:
        raise ModelError(f"{path.name} is not valid JSON: {error}.", _HINT) from error
    if not isinstance(data, dict) or not isinstance(data.get("model_type"), str):
        raise ModelError(
            f"{path.name} has no field 'model_type'.", "Give the config.json of a language model."
        )
    model_type = data["model_type"]
    if model_type not in MODEL_TYPES:
        raise UnsupportedModelError(
            f"{path.name} has the model type '{model_type[:80]}', whose weights and cache are not known here.",
            f"Give a GGUF file, or a model of type {', '.join(MODEL_TYPES)}.",
        )
    name = MODEL_TYPES[model_type]
    text = (
        data.get("text_config", data) if model_type == "gemma3" else data
    )  # gemma3: with a part for pictures
    if not isinstance(text, dict):
        raise ModelError(f"{path.name} has no table in the field 'text_config'.", _HINT)
    return _architecture(name, ConfigFields(path.name, text, _HINT), data)


def _architecture(name: str, fields: ConfigFields, outer: dict[str, Any]) -> Architecture:
    has_window = window_pattern(name, fields.source)
    defaults = _GEMMA3_DEFAULTS if name == "gemma3" else {}
    hidden = fields.number("hidden_size", defaults)
    heads = fields.number("num_attention_heads", defaults)
    head_dim = fields.number(
        "head_dim",
        {"head_dim": 256 if name in ("gemma", "gemma2", "gemma3") else hidden // heads if heads else 0},
    )
    kv_heads = fields.number("num_key_value_heads", {"num_key_value_heads": heads} | defaults)
    window = fields.number("sliding_window", {"sliding_window": 4096} | defaults) if "gemma" in name else 0
    layers = fields.number("num_hidden_layers", defaults)
    if layers > MAX_LAYERS:
        raise ModelError(f"{fields.source} declares {layers:,} layers, more than {MAX_LAYERS:,}.", _HINT)
    tied = fields.flag("tie_word_embeddings", outer.get("tie_word_embeddings", name in _TIED_BY_DEFAULT))
    return Architecture(
        name=name,
        hidden=hidden,
        heads=heads,
        feed_forward=fields.number("intermediate_size", defaults),
        vocabulary=fields.number("vocab_size", defaults),
        context=fields.number("max_position_embeddings", defaults),
        layers=tuple(
            AttentionLayer(kv_heads, head_dim, head_dim, window if has_window(index) else None)
            for index in range(layers)
        ),
        tied=tied,
    )


#: The fields that the config.json of Gemma 3 with pictures leaves out: the defaults of Gemma3TextConfig in the package
#: transformers, which are those of the model with 4 B parameters.
_GEMMA3_DEFAULTS = {
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "sliding_window": 4096,
}
