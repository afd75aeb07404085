"""Make a language model of a LiteRT-LM bundle (.litertlm): the TFLite models in it tell weights and cache."""

from __future__ import annotations

import mmap
import re
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from arenite.converters.tflite.schema_names import OP_CODES, TYPE_NAMES
from arenite.converters.tflite.verifier import decode
from arenite.errors import ModelError, UnsupportedModelError
from arenite.host.llm.architecture import Architecture, AttentionLayer
from arenite.host.llm.language_model import LITERT_LM, LanguageModel
from arenite.host.llm.litertlm_header import TFLITE, WEIGHTS, Section, read_sections
from arenite.input_files import check_is_file

#: The section with the graphs of the decoder.
_DECODER = "tf_lite_prefill_decode"
#: The types of the cache, by those of TFLite.
_CACHE_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}
#: The operators that read single rows of a constant, and the position of the constant.
_LOOKUPS = {OP_CODES["GATHER"]: 0, OP_CODES["EMBEDDING_LOOKUP"]: 1}
_MATRIX_OPS = (OP_CODES["FULLY_CONNECTED"], OP_CODES["BATCH_MATMUL"])
_HINT = "Give config.json of the same model, with --quantization Q4_0 or Q8_0 for 4 or 8 bits."


@dataclass(frozen=True)
class _Weight:
    """A constant. ``is_row_read``: only single rows of it are read. ``is_factor``: it is multiplied."""

    type: str
    shape: tuple[int, ...]
    bytes: int
    is_row_read: bool
    is_factor: bool

    @property
    def parameters(self) -> int:
        """The elements of a matrix; other constants are not trained, or small."""
        return prod(self.shape) if len(self.shape) >= 2 and self.bytes >= 64 else 0


def read_litertlm_model(path: Path) -> LanguageModel:
    """Return the model in the bundle at ``path``.

    Raises:
        ModelError: The file is malformed.
        UnsupportedModelError: The bundle has no decoder whose cache is known: its signature "decode" must have inputs
            kv_cache_k_0, kv_cache_v_0 and so on with equal, fixed numbers of tokens.
        OSError: The file cannot be read.
    """
    check_is_file(path)
    with path.open("rb") as file:
        try:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError as error:
            raise ModelError(f"{path.name} is empty.", "Download the bundle again.") from error
    sections = read_sections(data, path.name)
    decoder = next((section for section in sections if section.model == _DECODER), None)
    if decoder is None:
        raise UnsupportedModelError(
            f"{path.name} has no section {_DECODER}, so it is no language model.", _HINT
        )
    tables = _tables(data, decoder, path.name)
    weights = _weights(tables)
    layers, context, cache_type = _cache(tables, path.name)
    _, decoding = _signature(tables, path.name)
    vocabulary = prod(decoding["outputs"].get("logits", {"shape": (1,)})["shape"][-1:])
    factors = [weight for weight in weights if weight.is_factor]
    hidden = max((w.shape[-1] for w in factors if w.shape[0] == vocabulary), default=layers[0].key_dim)
    inner = [max(w.shape) for w in factors if hidden in w.shape and vocabulary not in w.shape]
    types = Counter[str]()
    for weight in factors:
        types[weight.type] += weight.parameters
    others = _other_bytes(data, sections, decoder, path.name)
    active = [weight for weight in weights if not weight.is_row_read]
    return LanguageModel(
        path=path,
        architecture=Architecture(
            name="litert-lm",
            hidden=hidden,
            heads=max(layer.kv_heads for layer in layers),  # at least; the graphs do not tell it
            feed_forward=max(inner, default=hidden),
            vocabulary=vocabulary,
            context=context,
            layers=layers,
            tied=not any(weight.is_row_read for weight in weights),
        ),
        quantization=types.most_common(1)[0][0] if types else "unknown",
        parameters=sum(weight.parameters for weight in weights),
        active_parameters=sum(weight.parameters for weight in active),
        weight_bytes=sum(weight.bytes for weight in weights) + others,
        active_bytes=sum(weight.bytes for weight in active),
        exact=True,
        runtime=LITERT_LM,
        fixed_cache_type=cache_type,
        cache_block=context,
    )


def _tables(data: memoryview, section: Section, name: str) -> dict[str, Any]:
    try:
        return decode(data[section.begin : section.end])
    except ModelError as error:
        raise type(error)(f"{name}, section {section.model}: {error.problem}", error.hint) from error


def _other_bytes(data: memoryview, sections: tuple[Section, ...], decoder: Section, name: str) -> int:
    """Return the bytes of the weights in other sections, such as embeddings and encoders of pictures."""
    total = 0
    for section in sections:
        if section.kind == WEIGHTS:
            total += section.bytes
        elif section.kind == TFLITE and section is not decoder:
            total += sum(weight.bytes for weight in _weights(_tables(data, section, name)))
    return total


def _weights(tables: dict[str, Any]) -> list[_Weight]:
    """Return the constants of all graphs. Constants in the same place of the file are one."""
    codes = [
        max(code["builtin_code"], code["deprecated_builtin_code"]) for code in tables["operator_codes"] or ()
    ]
    sizes = [max(len(b["data"] or b""), b["size"]) for b in tables["buffers"] or ()]
    found: dict[int, tuple[str, tuple[int, ...]]] = {}
    uses: dict[int, set[str]] = {}
    for graph in tables["subgraphs"] or ():
        tensors = graph["tensors"] or ()
        for tensor in tensors:
            if 0 < tensor["buffer"] < len(sizes) and sizes[tensor["buffer"]]:
                found[tensor["buffer"]] = TYPE_NAMES[tensor["type"]], tuple(tensor["shape"] or ())
        for op in graph["operators"] or ():
            code = codes[op["opcode_index"]] if op["opcode_index"] < len(codes) else -1
            for position, index in enumerate(op["inputs"] or ()):
                if 0 <= index < len(tensors):
                    kind = "row" if _LOOKUPS.get(code) == position else "all"
                    kind = "factor" if code in _MATRIX_OPS and position < 2 else kind
                    uses.setdefault(tensors[index]["buffer"], set()).add(kind)
    return [
        _Weight(kind, shape, sizes[buffer], uses.get(buffer) == {"row"}, "factor" in uses.get(buffer, ()))
        for buffer, (kind, shape) in found.items()
    ]


def _signature(tables: dict[str, Any], name: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the name of the signature that decodes, and its input and output tensors by name."""
    for signature in tables["signature_defs"] or ():
        key = signature["signature_key"] or ""
        if key == "decode" and signature["subgraph_index"] < len(tables["subgraphs"] or ()):
            tensors = tables["subgraphs"][signature["subgraph_index"]]["tensors"] or ()
            return key, {
                side: {
                    entry["name"]: tensors[entry["tensor_index"]]
                    for entry in signature[side] or ()
                    if entry["tensor_index"] < len(tensors)
                }
                for side in ("inputs", "outputs")
            }
    raise UnsupportedModelError(
        f"{name} has no signature 'decode', so the size of its cache is not known.", _HINT
    )


def _cache(tables: dict[str, Any], name: str) -> tuple[tuple[AttentionLayer, ...], int, str]:
    """Return the layers, the tokens for which each has room, and the type of the cache."""
    inputs = _signature(tables, name)[1]["inputs"]
    caches = {key: tensor for key, tensor in inputs.items() if re.fullmatch(r"kv_cache_[kv]_\d+", key)}
    count = len(caches) // 2
    pairs = [[caches.get(f"kv_cache_{part}_{layer}") for part in "kv"] for layer in range(count)]
    types = {TYPE_NAMES[tensor["type"]] for tensor in caches.values()}
    shapes = [tuple(tensor["shape"] or ()) for tensor in caches.values()]
    mask = tuple(inputs["mask"]["shape"] or ()) if "mask" in inputs else ()
    context = mask[-1] if mask else max(map(max, shapes), default=0)
    is_open = any(-1 in (tensor["shape_signature"] or ()) for tensor in caches.values())
    is_even = all(len(shape) == 4 and shape[0] == 1 and context in shape[1:] for shape in shapes)
    is_paired = count and not len(caches) % 2 and not any(None in pair for pair in pairs)
    if not is_paired or is_open or not is_even or not types <= {*_CACHE_TYPES}:
        raise UnsupportedModelError(
            f"{name} has a cache that is not known here: its signature 'decode' must have inputs kv_cache_k_0, "
            "kv_cache_v_0 and so on, each with the same fixed number of tokens.",
            _HINT,
        )
    if len(types) != 1:
        raise UnsupportedModelError(f"{name} has caches of {len(types)} types.", _HINT)
    layers = []
    for key, value in pairs:
        assert key is not None and value is not None
        heads, size = _heads(key["shape"], context)
        layers.append(AttentionLayer(heads, size, _heads(value["shape"], context)[1]))
    return tuple(layers), context, _CACHE_TYPES[types.pop()]


def _heads(shape: tuple[int, ...], context: int) -> tuple[int, int]:
    """Return the heads and the elements of each: what is left of the shape [1, heads, tokens, elements], in any
    order of the last two or the middle two, without the tokens."""
    sides = list(shape[1:])
    # The tokens are the last such side: a model with as many heads as tokens does not exist.
    del sides[len(sides) - 1 - sides[::-1].index(context)]
    return sides[0], sides[1]
