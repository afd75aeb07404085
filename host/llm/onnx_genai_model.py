"""Make a language model of a folder of ONNX Runtime GenAI: ``genai_config.json``, and the graph that it names."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import ModelError, UnsupportedModelError, UsageError
from arenite.host.llm.architecture import MAX_LAYERS, Architecture, AttentionLayer
from arenite.host.llm.config_fields import ConfigFields
from arenite.host.llm.language_model import ONNX_GENAI, LanguageModel
from arenite.host.llm.onnx_weights import OnnxWeights, read_onnx_weights
from arenite.input_files import parse_json, read_bytes

CONFIG = "genai_config.json"
_HINT = "Download the folder again, or make it again with the model builder of onnxruntime-genai."
#: The types of the cache that are known, as ONNX graphs have them.
_CACHE_TYPES = ("f32", "f16", "bf16")


def read_genai_folder(folder: Path) -> LanguageModel:
    """Return the model in ``folder``.

    Raises:
        UsageError: The folder has no genai_config.json.
        ModelError: A file is malformed, or lacks a field; the message names it.
        UnsupportedModelError: The model is no decoder in one graph, or its cache is not known.
        OSError: A file cannot be read.
    """
    fields = _fields(folder)
    if not fields.has("decoder"):
        raise UnsupportedModelError(f"{CONFIG} has no decoder, so it describes no language model.", _HINT)
    decoder = fields.table("decoder")
    if decoder.has("pipeline") or fields.has("encoder") or decoder.has("sliding_window"):
        raise UnsupportedModelError(
            f"{CONFIG} describes a model of several graphs, or one with a sliding window. Its cache is not known "
            "here.",
            "Give a decoder in one graph whose layers see all tokens.",
        )
    path = folder / decoder.text("filename")
    weights = read_onnx_weights(path)
    cache_type, layers = _cache(decoder, weights, path.name)
    hidden = decoder.number("hidden_size", {})
    vocabulary = fields.number("vocab_size", {})
    inner = [max(side) for side in weights.sides if hidden in side and vocabulary not in side]
    return LanguageModel(
        path=folder,
        architecture=Architecture(
            name=fields.text("type"),
            hidden=hidden,
            heads=decoder.number("num_attention_heads", {}),
            feed_forward=max(inner, default=hidden),
            vocabulary=vocabulary,
            context=fields.number("context_length", {}),
            layers=layers,
            tied=weights.tied,
        ),
        quantization=weights.kind,
        parameters=weights.parameters,
        active_parameters=weights.active_parameters,
        weight_bytes=weights.weight_bytes,
        active_bytes=weights.active_bytes,
        exact=True,
        runtime=ONNX_GENAI,
        fixed_cache_type=cache_type,
        cache_block=1,
        copied_bytes=weights.copied_bytes,
    )


def cache_outputs(folder: Path) -> list[str]:
    """Return the names of the outputs with the cache, for a model that ``read_genai_folder`` takes."""
    decoder = _fields(folder).table("decoder")
    names = decoder.table("outputs") if decoder.has("outputs") else ConfigFields(CONFIG, {}, _HINT)
    return [
        names.text(f"present_{part}_names", f"present.%d.{part}").replace("%d", str(layer))
        for layer in range(decoder.number("num_hidden_layers", {}))
        for part in ("key", "value")
    ]


def _fields(folder: Path) -> ConfigFields:
    """Return the table "model" of the configuration."""
    if not (folder / CONFIG).is_file():
        raise UsageError(
            f"{folder.name or folder} has no {CONFIG}.",
            f"Give a folder with a model for ONNX Runtime GenAI: {CONFIG}, an .onnx file and a tokenizer.",
        )
    try:
        data = parse_json(read_bytes(folder / CONFIG))
    except ValueError as error:
        raise ModelError(f"{CONFIG} is not valid JSON: {error}.", _HINT) from error
    return ConfigFields(CONFIG, data if isinstance(data, dict) else {}, _HINT).table("model")


def _cache(decoder: ConfigFields, weights: OnnxWeights, name: str) -> tuple[str, tuple[AttentionLayer, ...]]:
    """Return the type of the cache and the layers. The inputs of the graph must be those of the configuration."""
    count = decoder.number("num_hidden_layers", {})
    if count > MAX_LAYERS:
        raise ModelError(f"{CONFIG} declares {count:,} layers, more than {MAX_LAYERS:,}.", _HINT)
    heads = decoder.number("num_attention_heads", {})
    kv_heads = decoder.number("num_key_value_heads", {"num_key_value_heads": heads})
    size = decoder.number("head_size", {"head_size": decoder.number("hidden_size", {}) // max(heads, 1)})
    names = decoder.table("inputs") if decoder.has("inputs") else ConfigFields(CONFIG, {}, _HINT)
    kinds = set[str]()
    for part in ("key", "value"):
        pattern = names.text(f"past_{part}_names", f"past_key_values.%d.{part}")
        for layer in range(count):
            cache = weights.inputs.get(pattern.replace("%d", str(layer)))
            if cache is None or len(cache.shape) != 4 or cache.kind not in _CACHE_TYPES:
                raise UnsupportedModelError(
                    f"{name} has no input '{pattern.replace('%d', str(layer))[:80]}' with the keys or values of "
                    f"layer {layer}, so the size of the cache is not known.",
                    "Give a model in which every layer has attention, with a cache of floating-point numbers.",
                )
            if (cache.shape[1] or kv_heads) != kv_heads or (cache.shape[3] or size) != size:
                raise ModelError(
                    f"{name} has a cache of {cache.shape[1]} heads with {cache.shape[3]} elements in layer {layer}, "
                    f"but {CONFIG} says {kv_heads} with {size}.",
                    _HINT,
                )
            kinds.add(cache.kind)
    if len(kinds) != 1:
        raise UnsupportedModelError(f"{name} has caches of {len(kinds)} types.", _HINT)
    return kinds.pop(), (AttentionLayer(kv_heads, size, size),) * count
