"""Write small GGUF files: valid ones, and ones with chosen damage."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arenite.host.llm.ggml_types import GGML_TYPES, TYPES_BY_NAME

_NUMBERS = {kind.name: number for number, kind in GGML_TYPES.items()}


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, value: Any) -> bytes:
    """Return a metadata entry: a text, a boolean, a whole number (u32), a float, or a list of texts or of numbers."""
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, bool):
        return text(key) + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    is_text = bool(value) and isinstance(value[0], str)
    items = b"".join(text(v) if is_text else struct.pack("<I", v) for v in value)
    return text(key) + struct.pack("<IIQ", 9, 8 if is_text else 4, len(value)) + items


@dataclass
class GgufFile:
    """A file: metadata, and tensors as name, shape (adjacent elements first) and type."""

    metadata: dict[str, Any]
    tensors: list[tuple[str, tuple[int, ...], str]] = field(default_factory=list)
    version: int = 3

    def header(self) -> bytes:
        parts = [b"GGUF", struct.pack("<IQQ", self.version, len(self.tensors), len(self.metadata))]
        parts += [entry(key, value) for key, value in self.metadata.items()]
        offset = 0
        for name, shape, kind in self.tensors:
            parts.append(
                text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _NUMBERS[kind], offset)
            )
            offset += -(-self.tensor_bytes(shape, kind) // 32) * 32
        return b"".join(parts)

    @staticmethod
    def tensor_bytes(shape: tuple[int, ...], kind: str) -> int:
        elements = 1
        for size in shape:
            elements *= size
        return TYPES_BY_NAME[kind].row_bytes(elements)

    def data(self) -> bytes:
        """Return the content of the file. All weights are 0."""
        header = self.header()
        sizes = [-(-self.tensor_bytes(shape, kind) // 32) * 32 for _, shape, kind in self.tensors]
        return header + bytes(-len(header) % 32) + bytes(sum(sizes))

    def write(self, path: Path) -> Path:
        path.write_bytes(self.data())
        return path


def small_llama(name: str = "llama", *, tied: bool = True, window: int = 0, layers: int = 6) -> GgufFile:
    """Return a model with a hidden size of 64, 4 heads of queries, 2 heads of keys and 96 tokens."""
    metadata: dict[str, Any] = {
        "general.architecture": name,
        "general.file_type": 8,
        f"{name}.block_count": layers,
        f"{name}.context_length": 2048,
        f"{name}.embedding_length": 64,
        f"{name}.feed_forward_length": 128,
        f"{name}.attention.head_count": 4,
        f"{name}.attention.head_count_kv": 2,
        "tokenizer.ggml.tokens": [f"token {number}" for number in range(96)],
    }
    if window:
        metadata[f"{name}.attention.sliding_window"] = window
    tensors: list[tuple[str, tuple[int, ...], str]] = [
        ("token_embd.weight", (64, 96), "Q8_0"),
        ("output_norm.weight", (64,), "F32"),
    ]
    if not tied:
        tensors.append(("output.weight", (64, 96), "Q8_0"))
    for layer in range(layers):
        tensors += [
            (f"blk.{layer}.attn_q.weight", (64, 64), "Q5_0"),
            (f"blk.{layer}.ffn_up.weight", (64, 128), "F16"),
        ]
    return GgufFile(metadata, tensors)
