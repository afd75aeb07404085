"""Make a language model of the header of a GGUF file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arenite.errors import ModelError
from arenite.host.llm.architecture import MAX_LAYERS, Architecture, AttentionLayer, window_pattern
from arenite.host.llm.ggml_types import FILE_TYPES
from arenite.host.llm.gguf_header import GgufHeader, LongArray, TensorInfo, read_gguf_header
from arenite.host.llm.language_model import LanguageModel

EMBEDDING = "token_embd.weight"
OUTPUT = "output.weight"
#: llama.cpp's window of Gemma 2 files that were made before the key was written.
GEMMA2_WINDOW = 4096


def read_gguf_model(path: Path) -> LanguageModel:
    """Return the model in the GGUF file at ``path``.

    Raises:
        ModelError: The file is malformed, or lacks a field; the message names it.
        UnsupportedModelError: The architecture is not known.
        OSError: The file cannot be read.
    """
    header = read_gguf_header(path)
    tensors = {tensor.name: tensor for tensor in header.tensors}
    if EMBEDDING not in tensors:
        raise ModelError(
            f"{path.name} has no tensor '{EMBEDDING}'.",
            "Give the file of a language model, the first one if it is split into several.",
        )
    if header.metadata.get("split.count", 1) not in (0, 1):
        raise ModelError(
            f"{path.name} is one of {header.metadata['split.count']} parts of a model.",
            "Merge them: llama-gguf-split --merge FIRST_PART OUTPUT.gguf.",
        )
    architecture = _architecture(header, tensors)
    active_bytes = active_parameters = 0
    for tensor in header.tensors:
        share = _active_share(tensor.name, architecture)
        active_bytes += round(tensor.bytes * share)
        active_parameters += round(tensor.elements * share)
    return LanguageModel(
        path=path,
        architecture=architecture,
        quantization=_quantization(header),
        parameters=sum(tensor.elements for tensor in header.tensors),
        active_parameters=active_parameters,
        weight_bytes=sum(tensor.bytes for tensor in header.tensors),
        active_bytes=active_bytes,
        exact=True,
    )


def _active_share(name: str, architecture: Architecture) -> float:
    """Return the part of tensor ``name`` that is read for each token."""
    if name == EMBEDDING and not architecture.tied:
        return 0.0
    if "_exps" in name and architecture.experts:
        return architecture.experts_used / architecture.experts
    return 1.0


def _quantization(header: GgufHeader) -> str:
    """Return the name of the quantization: that in the metadata, or the type with the most bytes."""
    number = header.metadata.get("general.file_type")
    if isinstance(number, int) and number in FILE_TYPES:
        return FILE_TYPES[number]
    sizes = Counter[str]()
    for tensor in header.tensors:
        sizes[tensor.kind.name] += tensor.bytes
    return sizes.most_common(1)[0][0]


def _architecture(header: GgufHeader, tensors: dict[str, TensorInfo]) -> Architecture:
    fields = _Fields(header)
    name = header.metadata.get("general.architecture")
    if not isinstance(name, str):
        raise ModelError(
            f"{header.path.name} lacks the field 'general.architecture'.", "Convert the model again."
        )
    has_window = window_pattern(name, header.path.name)
    fields.prefix = name
    layer_count = fields.number("block_count", None)
    if layer_count > MAX_LAYERS:
        raise ModelError(f"{header.path.name} declares {layer_count:,} layers, more than {MAX_LAYERS:,}.")
    hidden = fields.number("embedding_length", None)
    query_heads = fields.per_layer("attention.head_count", None, layer_count)
    kv_heads = fields.per_layer("attention.head_count_kv", query_heads, layer_count)
    heads = max(query_heads, default=0)
    head_dim = hidden // heads if heads else 0
    key_dim = fields.number("attention.key_length", head_dim)
    value_dim = fields.number("attention.value_length", head_dim)
    window = fields.number("attention.sliding_window", GEMMA2_WINDOW if name == "gemma2" else 0)
    vocabulary = header.metadata.get("tokenizer.ggml.tokens")
    rows = tensors[EMBEDDING].shape[1] if len(tensors[EMBEDDING].shape) > 1 else 0
    return Architecture(
        name=name,
        hidden=hidden,
        heads=heads,
        feed_forward=max(fields.per_layer("feed_forward_length", None, layer_count), default=0),
        vocabulary=rows or (vocabulary.count if isinstance(vocabulary, LongArray) else 0),
        context=fields.number("context_length", None),
        layers=tuple(
            AttentionLayer(count, key_dim, value_dim, window if window and has_window(layer) else None)
            for layer, count in enumerate(kv_heads)
        ),
        tied=OUTPUT not in tensors,
        experts=fields.number("expert_count", 0),
        experts_used=fields.number("expert_used_count", 0),
    )


class _Fields:
    """The metadata of an architecture. A field without a default must exist."""

    prefix = ""

    def __init__(self, header: GgufHeader) -> None:
        self._header = header

    def _get(self, key: str, is_optional: bool) -> Any:
        full = f"{self.prefix}.{key}"
        value = self._header.metadata.get(full)
        if value is None and not is_optional:
            raise ModelError(
                f"{self._header.path.name} lacks the field '{full}'.", "Convert the model again."
            )
        return value

    def _check(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ModelError(
                f"{self._header.path.name} has {str(value)[:80]} in the field '{self.prefix}.{key}', not a whole "
                "number."
            )
        return value

    def number(self, key: str, default: int | None) -> int:
        """Return the whole number ``key``."""
        value = self._get(key, default is not None)
        return default if value is None and default is not None else self._check(key, value)

    def per_layer(self, key: str, default: Sequence[int] | None, layers: int) -> list[int]:
        """Return the whole number ``key`` of each layer. The file has one number, or one for each layer."""
        value = self._get(key, default is not None)
        if value is None and default is not None:
            return list(default)
        if isinstance(value, list):
            if len(value) != layers:
                raise ModelError(
                    f"{self._header.path.name} has {len(value)} numbers in '{self.prefix}.{key}' for {layers} layers."
                )
            return [self._check(key, number) for number in value]
        return [self._check(key, value)] * layers
