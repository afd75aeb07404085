"""Write folders of ONNX Runtime GenAI: a small Llama with random weights, or SmolLM2 with those of its GGUF file.

The graph is like those that the package's own model builder makes of a Llama in float32 or with weights of four bits,
but is made without the packages ``onnx`` and ``torch``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.importers.onnx_ml import onnx_writer as onnx
from tests.host.llm.byte_tokenizer import byte_tokens, tokenizer

#: The numbers of the element types in ONNX.
_FLOAT, _UINT8, _INT64 = 1, 2, 7
#: The weights that share a scale if they have four bits.
_BLOCK = 32
_CONTRIB = "com.microsoft"
_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """The sizes of a Llama whose output matrix is its embedding."""

    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    layers: int
    vocabulary: int
    context: int
    theta: float = 10_000.0
    epsilon: float = 1e-5

    @property
    def parameters(self) -> int:
        """The weights, with those of the norms."""
        return sum(rows * columns for _, rows, columns in weight_shapes(self)) + self.hidden * (
            2 * self.layers + 1
        )


SMALL = Shape(64, 4, 2, 16, 96, 2, 259, 256)
#: The names of the matrices of a layer in GGUF files.
_MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def weight_shapes(shape: Shape) -> Iterator[tuple[str, int, int]]:
    """Yield the name in GGUF files, the outputs and the inputs of each matrix."""
    yield "token_embd.weight", shape.vocabulary, shape.hidden
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    sizes = {
        "attn_q": (queries, shape.hidden),
        "attn_k": (keys, shape.hidden),
        "attn_v": (keys, shape.hidden),
        "attn_output": (shape.hidden, queries),
        "ffn_gate": (shape.feed_forward, shape.hidden),
        "ffn_up": (shape.feed_forward, shape.hidden),
        "ffn_down": (shape.hidden, shape.feed_forward),
    }
    for layer in range(shape.layers):
        for name in _MATRICES:
            yield f"blk.{layer}.{name}.weight", *sizes[name]


def small_folder(folder: Path, bits: int = 32, **search: Any) -> Path:
    """Write a folder with a model of 259 bytes and marks as vocabulary and random weights of ``bits`` bits. ``search``
    changes the table of that name in genai_config.json."""
    numbers = np.random.default_rng(7)
    weights = {
        name: numbers.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
        for name, rows, columns in weight_shapes(SMALL)
    }
    norms = np.ones(SMALL.hidden, np.float32)
    return write_folder(
        folder,
        SMALL,
        lambda name: weights.get(name, norms),
        byte_tokens(),
        [],
        _TEMPLATE,
        end=2,
        bits=bits,
        search=search,
    )


def smollm2_folder(folder: Path, gguf_file: Path, bits: int = 32) -> Path:
    """Write SmolLM2-135M of its GGUF file. The weights become float32, or those of the matrices are quantized again to
    four bits."""
    import gguf

    reader = gguf.GGUFReader(gguf_file)
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def weight(name: str) -> np.ndarray:
        tensor = tensors[name]
        return gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)

    def field(name: str) -> Any:
        return reader.fields[name].contents()

    shape = Shape(576, 9, 3, 64, 1536, 30, 49152, 8192, 100_000.0)
    return write_folder(
        folder,
        shape,
        weight,
        field("tokenizer.ggml.tokens"),
        field("tokenizer.ggml.merges"),
        field("tokenizer.chat_template"),
        end=2,
        bits=bits,
        interleaved=True,  # the GGUF format stores the rows of queries and keys in this order
    )


def write_folder(
    folder: Path,
    shape: Shape,
    weight: Callable[[str], np.ndarray],
    tokens: list[str],
    merges: list[str],
    template: str,
    end: int,
    bits: int = 32,
    interleaved: bool = False,
    search: dict[str, Any] | None = None,
) -> Path:
    """Write the folder. ``weight`` returns a weight by its name in GGUF files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "model.onnx.data").open("wb") as data:
        graph = _Graph(shape, weight, data.write, bits, interleaved).parts()
    (folder / "model.onnx").write_bytes(onnx.file(graph, {"": 18, _CONTRIB: 1}))
    (folder / "genai_config.json").write_text(json.dumps(_config(shape, end, search or {}), indent=1))
    vocabulary = tokenizer(tokens, merges)
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "GPT2Tokenizer",
                "add_prefix_space": False,
                "bos_token": tokens[1],
                "eos_token": tokens[end],
                "unk_token": tokens[0],
                "chat_template": template,
                "added_tokens_decoder": {str(token["id"]): token for token in vocabulary["added_tokens"]},
            }
        )
    )
    return folder


def _config(shape: Shape, end: int, search: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": {
            "bos_token_id": 1,
            "context_length": shape.context,
            "decoder": {
                "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
                "filename": "model.onnx",
                "head_size": shape.head_size,
                "hidden_size": shape.hidden,
                "inputs": {
                    "input_ids": "input_ids",
                    "attention_mask": "attention_mask",
                    "past_key_names": "past_key_values.%d.key",
                    "past_value_names": "past_key_values.%d.value",
                },
                "outputs": {
                    "logits": "logits",
                    "present_key_names": "present.%d.key",
                    "present_value_names": "present.%d.value",
                },
                "num_attention_heads": shape.heads,
                "num_hidden_layers": shape.layers,
                "num_key_value_heads": shape.kv_heads,
            },
            "eos_token_id": end,
            "pad_token_id": end,
            "type": "llama",
            "vocab_size": shape.vocabulary,
        },
        "search": {"do_sample": False, "max_length": shape.context, "past_present_share_buffer": True}
        | search,
    }


class _Graph:
    """The graph of a Llama, whose weights go to another file through ``write``."""

    def __init__(
        self,
        shape: Shape,
        weight: Callable[[str], np.ndarray],
        write: Callable[[bytes], int],
        bits: int,
        interleaved: bool,
    ) -> None:
        self._shape, self._weight, self._write = shape, weight, write
        self._bits, self._interleaved = bits, interleaved
        self._parts, self._offset = list[bytes](), 0

    def parts(self) -> list[bytes]:
        """Return the nodes, constants, inputs and outputs."""
        shape = self._shape
        self._value(11, "input_ids", ("batch", "sequence"), _INT64)
        self._value(11, "attention_mask", ("batch", "total"), _INT64)
        self._lengths()
        self._rotary()
        self._stored("token_embd.weight", self._weight("token_embd.weight"))
        self._node("Gather", ["token_embd.weight", "input_ids"], ["x"])
        x = "x"
        for layer in range(shape.layers):
            x = self._layer(layer, x)
        x = self._norm("output_norm.weight", x)
        if self._bits == 32:
            self._node("FusedMatMul", [x, "token_embd.weight"], ["logits"], _CONTRIB, transB=1)
        else:
            self._packed_matmul("output.weight", self._weight("token_embd.weight"), x, "logits")
        self._value(12, "logits", ("batch", "sequence", shape.vocabulary), _FLOAT)
        return self._parts

    def _lengths(self) -> None:
        self._constant("one", np.array([1], np.int64))
        self._node("ReduceSum", ["attention_mask", "one"], ["mask_sum"], keepdims=0)
        self._node("Sub", ["mask_sum", "one"], ["last"])
        self._node("Cast", ["last"], ["seqlens_k"], to=6)
        self._node("Shape", ["attention_mask"], ["mask_shape"])
        self._constant("one_scalar", np.array(1, np.int64))
        self._node("Gather", ["mask_shape", "one_scalar"], ["total"], axis=0)
        self._node("Cast", ["total"], ["total_sequence_length"], to=6)

    def _rotary(self) -> None:
        shape = self._shape
        frequencies = shape.theta ** (-np.arange(0, shape.head_size, 2) / shape.head_size)
        angles = np.arange(shape.context)[:, None] * frequencies
        self._stored("cos_cache", np.cos(angles).astype(np.float32))
        self._stored("sin_cache", np.sin(angles).astype(np.float32))

    def _layer(self, layer: int, x: str) -> str:
        shape, name = self._shape, f"blk.{layer}."
        attended = self._norm(f"{name}attn_norm.weight", x)
        queries, keys, values = (self._matmul(f"{name}attn_{part}.weight", attended) for part in "qkv")
        caches = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        presents = [f"present.{layer}.{part}" for part in ("key", "value")]
        for field, names, length in ((11, caches, "past"), (12, presents, "total")):
            for cache in names:
                self._value(field, cache, ("batch", shape.kv_heads, length, shape.head_size), _FLOAT)
        lengths = ["seqlens_k", "total_sequence_length", "cos_cache", "sin_cache"]
        self._node(
            "GroupQueryAttention",
            [queries, keys, values, *caches, *lengths],
            [f"{name}attention", *presents],
            _CONTRIB,
            num_heads=shape.heads,
            kv_num_heads=shape.kv_heads,
            do_rotary=1,
            rotary_interleaved=int(self._interleaved),
        )
        output = self._matmul(f"{name}attn_output.weight", f"{name}attention")
        self._node("Add", [x, output], [f"{name}middle"])
        inner = self._norm(f"{name}ffn_norm.weight", f"{name}middle")
        gate, up = (self._matmul(f"{name}ffn_{part}.weight", inner) for part in ("gate", "up"))
        self._node("Sigmoid", [gate], [f"{name}sigmoid"])
        self._node("Mul", [gate, f"{name}sigmoid"], [f"{name}silu"])
        self._node("Mul", [f"{name}silu", up], [f"{name}gated"])
        down = self._matmul(f"{name}ffn_down.weight", f"{name}gated")
        self._node("Add", [f"{name}middle", down], [f"{name}end"])
        return f"{name}end"

    def _norm(self, name: str, x: str) -> str:
        self._constant(name, self._weight(name))
        options: dict[str, Any] = {"axis": -1, "epsilon": self._shape.epsilon, "stash_type": 1}
        self._node("SimplifiedLayerNormalization", [x, name], [f"{name}/out"], **options)
        return f"{name}/out"

    def _matmul(self, name: str, x: str) -> str:
        if self._bits == 32:
            self._stored(name, np.ascontiguousarray(self._weight(name).T))
            self._node("MatMul", [x, name], [f"{name}/out"])
        else:
            self._packed_matmul(name, self._weight(name), x, f"{name}/out")
        return f"{name}/out"

    def _packed_matmul(self, name: str, weight: np.ndarray, x: str, output: str) -> None:
        """Multiply by ``weight`` with four bits, of which each block has a scale: (number - 8) × scale."""
        rows, columns = weight.shape
        blocks = weight.reshape(rows, -1, _BLOCK)
        extremes = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)
        scales = np.where(extremes == 0, 1, extremes / -8).astype(np.float32)
        numbers = np.clip(np.rint(blocks / scales) + 8, 0, 15).astype(np.uint8)
        self._stored(name, numbers[..., 0::2] | numbers[..., 1::2] << 4)
        self._stored(f"{name}_scales", scales.reshape(-1))
        self._node(
            "MatMulNBits",
            [x, name, f"{name}_scales"],
            [output],
            _CONTRIB,
            K=columns,
            N=rows,
            bits=4,
            block_size=_BLOCK,
            accuracy_level=4,
        )

    def _node(
        self, kind: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any
    ) -> None:
        self._parts.append(onnx.node(kind, inputs, outputs, attributes, domain))

    def _constant(self, name: str, array: np.ndarray) -> None:
        self._parts.append(onnx.tensor(name, array))

    def _stored(self, name: str, array: np.ndarray) -> None:
        """Add a constant whose bytes are in the other file."""
        entries = {"location": "model.onnx.data", "offset": str(self._offset), "length": str(array.nbytes)}
        places = [
            onnx.message(13, onnx.message(1, key), onnx.message(2, value)) for key, value in entries.items()
        ]
        kind = _UINT8 if array.dtype == np.uint8 else _FLOAT
        dims = [onnx.number(1, side) for side in array.shape]
        self._parts.append(
            onnx.message(5, *dims, onnx.number(2, kind), onnx.message(8, name), *places, onnx.number(14, 1))
        )
        self._write(array.tobytes())
        self._offset += array.nbytes

    def _value(self, field: int, name: str, shape: tuple[str | int, ...], kind: int) -> None:
        sides = [
            onnx.message(1, onnx.message(2, side) if isinstance(side, str) else onnx.number(1, side))
            for side in shape
        ]
        tensor = onnx.message(1, onnx.number(1, kind), onnx.message(2, *sides))
        self._parts.append(onnx.message(field, onnx.message(1, name), onnx.message(2, tensor)))
