"""Write small LiteRT-LM bundles, which LiteRT-LM runs: a model that looks only at the last token."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import flatbuffers
import numpy as np

from arenite.converters.graph.model import Model, Op, Signature, Subgraph, Tensor
from arenite.converters.importers.onnx_ml.onnx_writer import message, number
from arenite.converters.tflite.writer import to_flatbuffer
from tests.host.llm.byte_tokenizer import byte_tokens, tokenizer

HIDDEN, VOCABULARY, CONTEXT, PREFILL = 16, 259, 128, 16
#: The heads of keys and their elements, of each of the layers.
HEADS, SIZE, LAYERS = 2, 8, 2
#: The types of sections.
METADATA, TOKENIZER, TFLITE = 5, 6, 3
DECODER = "tf_lite_prefill_decode"
_BLOCK = 16 * 1024
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{{ part['text'] }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tflite_model(context: int = CONTEXT, tokens_last: bool = True) -> bytes:
    """Return a model with the signatures of a decoder. ``tokens_last``: the values of the cache have the tokens in the
    last dimension, as litert-torch makes them."""
    # Each byte is followed by the next one of the same 16, so the answer is known, and no mark is ever the likeliest.
    table = np.random.default_rng(5).normal(size=(VOCABULARY, HIDDEN)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    output = np.zeros((VOCABULARY, HIDDEN), np.float32)
    for token in range(3, VOCABULARY):
        output[following(token)] = table[token]
    graphs, signatures = list[Subgraph](), list[Signature]()
    for key, count in ((f"prefill_{PREFILL}", PREFILL), ("decode", 1)):
        graph, signature = _graph(key, len(graphs), count, context, tokens_last, table, output)
        graphs.append(graph)
        signatures.append(signature)
    return to_flatbuffer(Model(tuple(graphs), signatures=tuple(signatures)))


def following(token: int) -> int:
    """Return the token that the model says after ``token``."""
    return (token - 3) // 16 * 16 + (token - 3 + 1) % 16 + 3


def _graph(
    key: str, index: int, count: int, context: int, tokens_last: bool, table: np.ndarray, output: np.ndarray
) -> tuple[Subgraph, Signature]:
    tensors: list[Tensor] = []

    def add(name: str, shape: Sequence[int], kind: str = "float32", data: np.ndarray | None = None) -> int:
        tensors.append(Tensor(len(tensors), name, tuple(shape), kind, None, data))
        return len(tensors) - 1

    inputs = [
        ("tokens", add("tokens", (1, count), "int32")),
        ("input_pos", add("input_pos", (count,), "int32")),
        ("mask", add("mask", (1, 1, count, context))),
    ]
    outputs, ops = list[tuple[str, int]](), list[Op]()
    zero = add("zero", (1,), data=np.zeros(1, np.float32))
    for layer in range(LAYERS):
        for part in "kv":
            is_value = part == "v" and tokens_last
            shape = (1, HEADS, SIZE, context) if is_value else (1, HEADS, context, SIZE)
            name = f"kv_cache_{part}_{layer}"
            before, after = add(name, shape), add(f"{name}_out", shape)
            inputs.append((name, before))
            outputs.append((name, after))
            ops.append(Op(len(ops), "ADD", (before, zero), (after,), {}, "AddOptions"))
    if key == "decode":
        rows = add("rows", (1, count, HIDDEN))
        weights = add("embedding", table.shape, data=table)
        gather = {"axis": 0, "batch_dims": 0}
        ops.append(Op(len(ops), "GATHER", (weights, inputs[0][1]), (rows,), gather, "GatherOptions"))
        factors, logits = add("output", output.shape, data=output), add("logits", (1, count, VOCABULARY))
        options = {"keep_num_dims": True}
        ops.append(
            Op(len(ops), "FULLY_CONNECTED", (rows, factors, -1), (logits,), options, "FullyConnectedOptions")
        )
        outputs.append(("logits", logits))
    ids = [tuple(number for _, number in pairs) for pairs in (inputs, outputs)]
    graph = Subgraph(key, tuple(tensors), tuple(ops), ids[0], ids[1])
    return graph, Signature(key, index, tuple(inputs), tuple(outputs))


def metadata(context: int = CONTEXT, template: str = _TEMPLATE) -> bytes:
    """Return the section with the description of a model for conversations."""
    start, end = (message(1, number(1, token)) for token in (1, 2))
    generic = message(6, message(1))
    return message(1, start) + message(2, end) + number(5, context) + generic + message(7, template)


def tokenizer_section() -> bytes:
    content = json.dumps(tokenizer(byte_tokens(), [])).encode()
    return len(content).to_bytes(8, "little") + zlib.compress(content)


def write_bundle(path: Path, sections: Sequence[tuple[int, bytes, str]] | None = None) -> Path:
    """Write a bundle. ``sections``: for each its type, its bytes, and what its model is for, or ""."""
    if sections is None:
        sections = (
            (METADATA, metadata(), ""),
            (TOKENIZER, tokenizer_section(), ""),
            (TFLITE, tflite_model(), DECODER),
        )
    places, at = list[tuple[int, int]](), _BLOCK
    for _, content, _ in sections:
        places.append((at, at + len(content)))
        at = -(-(at + len(content)) // _BLOCK) * _BLOCK
    header = _header(
        [(kind, *place, model) for (kind, _, model), place in zip(sections, places, strict=True)]
    )
    data = bytearray(at)
    data[:8] = b"LITERTLM"
    struct.pack_into("<IIIIQ", data, 8, 1, 7, 0, 0, 32 + len(header))
    data[32 : 32 + len(header)] = header
    for (begin, end), (_, content, _) in zip(places, sections, strict=True):
        data[begin:end] = content
    path.write_bytes(data)
    return path


def _header(sections: Sequence[tuple[int, int, int, str]]) -> bytes:
    builder = flatbuffers.Builder(1024)
    objects = []
    for kind, begin, end, model in sections:
        items = _vector(builder, [_entry(builder, "model_type", model)] if model else [])
        builder.StartObject(4)
        builder.PrependUOffsetTRelativeSlot(0, items, 0)
        builder.PrependUint64Slot(1, begin, 0)
        builder.PrependUint64Slot(2, end, 0)
        builder.PrependUint8Slot(3, kind, 0)
        objects.append(builder.EndObject())
    system, listed = _table(builder, 0, _vector(builder, [])), _table(builder, 0, _vector(builder, objects))
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(0, system, 0)
    builder.PrependUOffsetTRelativeSlot(1, listed, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _entry(builder: flatbuffers.Builder, key: str, text: str) -> int:
    name, value = builder.CreateString(key), _table(builder, 0, builder.CreateString(text))
    builder.StartObject(3)
    builder.PrependUOffsetTRelativeSlot(0, name, 0)
    builder.PrependUint8Slot(1, 9, 0)  # a text
    builder.PrependUOffsetTRelativeSlot(2, value, 0)
    return int(builder.EndObject())


def _table(builder: flatbuffers.Builder, slot: int, offset: int) -> int:
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    return int(builder.EndObject())


def _vector(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
