"""Tests of the models that folders of ONNX Runtime GenAI describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import ModelError, UnsupportedModelError, UsageError
from arenite.host.llm.bench import LanguageModelBench
from arenite.host.llm.measurement import DecodeRun, Measurement
from arenite.host.llm.memory import predict_memory
from arenite.host.llm.onnx_genai_model import read_genai_folder
from arenite.host.llm.remedies import find_remedies
from arenite.profiles.hosts import load_host
from tests.docs.schemas import problems
from tests.host.llm.genai_folders import SMALL, small_folder

#: The tables of angles, one for cosines and one for sines.
_ANGLES = 2 * 4 * SMALL.context * SMALL.head_size // 2
#: The number that is subtracted from the lengths, and that of an axis.
_INTEGERS = 2 * 8


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    """Change genai_config.json."""
    path = folder / "genai_config.json"
    data = json.loads(path.read_text())
    edit(data["model"])
    path.write_text(json.dumps(data))
    return folder


def test_a_folder_gives_the_architecture_and_the_exact_weights(tmp_path: Path) -> None:
    model = read_genai_folder(small_folder(tmp_path / "m"))
    shape = model.architecture
    assert (shape.name, shape.hidden, shape.heads, shape.feed_forward, shape.vocabulary, shape.context) == (
        "llama", SMALL.hidden, SMALL.heads, SMALL.feed_forward, SMALL.vocabulary, SMALL.context,
    )  # fmt: skip
    assert {(layer.kv_heads, layer.key_dim, layer.window) for layer in shape.layers} == {(2, 16, None)}
    assert len(shape.layers) == SMALL.layers and shape.tied and model.quantization == "float32"
    assert model.parameters == model.active_parameters == SMALL.parameters
    assert model.weight_bytes == 4 * SMALL.parameters + _ANGLES + _INTEGERS
    assert model.copied_bytes == 4 * SMALL.vocabulary * SMALL.hidden


def test_weights_of_four_bits_are_counted_one_by_one(tmp_path: Path) -> None:
    model = read_genai_folder(small_folder(tmp_path / "m", bits=4))
    embedding = SMALL.vocabulary * SMALL.hidden
    assert model.quantization == "int4" and not model.architecture.tied and model.copied_bytes == 0
    assert model.parameters == SMALL.parameters + embedding  # the output is quantized, the embedding is not
    assert model.active_parameters == SMALL.parameters
    norms = SMALL.hidden * (2 * SMALL.layers + 1)
    packed = (SMALL.parameters - norms) // 2 + 4 * (SMALL.parameters - norms) // 32  # with a scale per 32
    assert model.active_bytes == packed + 4 * norms + _INTEGERS
    assert model.weight_bytes == model.active_bytes + 4 * embedding + _ANGLES


def test_the_cache_is_not_rounded_up_and_has_the_type_of_the_graph(tmp_path: Path) -> None:
    model = read_genai_folder(small_folder(tmp_path / "m"))
    assert model.cache_type(None) == model.cache_type("f32") == "f32"
    with pytest.raises(UsageError, match="type f32"):
        model.cache_type("q8_0")
    host = load_host("raspberry_pi_5")
    assert predict_memory(model, host, 100, "f32").kv == 2 * 2 * 2 * 16 * 100 * 4
    assert find_remedies(model, host, 100, "f32", None) == []


def test_the_result_of_a_bench_names_the_runtime(tmp_path: Path) -> None:
    model = read_genai_folder(small_folder(tmp_path / "m"))
    run = DecodeRun(8, 0.5, (0.1, 0.2), (0.1, 0.2), None)
    measured = Measurement((run,), 10**8, (2 * 2 * 2 * 16 * 100 * 4 / 2**20,), 1)
    result = LanguageModelBench(model, load_host("raspberry_pi_5"), 100, "f32", measured, None).to_json()
    assert problems(result) == []
    assert result["model"]["runtime"] == "ONNX Runtime GenAI" and result["kv"]["exact"]


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda m: m.pop("decoder"), UnsupportedModelError, "no decoder"),
        (lambda m: m.update(decoder=[]), ModelError, "no table in the field 'decoder'"),
        (lambda m: m["decoder"].pop("filename"), ModelError, "no text in the field 'filename'"),
        (lambda m: m["decoder"].pop("hidden_size"), ModelError, "lacks the field 'hidden_size'"),
        (lambda m: m.update(context_length=-1), ModelError, "'context_length' must be a whole number"),
        (lambda m: m.update(type=3), ModelError, "no text in the field 'type'"),
        (lambda m: m["decoder"].update(num_hidden_layers=3), UnsupportedModelError, r"key_values\.2\.key"),
        (lambda m: m["decoder"].update(num_hidden_layers=10**9), ModelError, "1,000,000,000 layers"),
        (lambda m: m["decoder"].update(head_size=8), ModelError, "2 heads with 16 elements"),
        (lambda m: m["decoder"].update(num_hidden_layers=0), UnsupportedModelError, "0 types"),
        (lambda m: m["decoder"].update(sliding_window={}), UnsupportedModelError, "sliding window"),
        (lambda m: m["decoder"].update(pipeline=[{}]), UnsupportedModelError, "several graphs"),
    ],
)
def test_an_impossible_configuration_is_refused(
    edit: Callable[[dict[str, Any]], object], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        read_genai_folder(change(small_folder(tmp_path / "m"), edit))


@pytest.mark.parametrize("content", ["", "[]", "{", '{"model": 3}', "[" * 100_000])
def test_a_file_that_is_no_configuration_is_refused(content: str, tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m")
    (folder / "genai_config.json").write_text(content)
    with pytest.raises(ModelError, match="genai_config"):
        read_genai_folder(folder)


def test_a_damaged_graph_is_refused_at_every_length(tmp_path: Path) -> None:
    """A cut between two fields leaves a shorter graph, which lacks the inputs of the cache at its end."""
    folder = small_folder(tmp_path / "m")
    graph = (folder / "model.onnx").read_bytes()
    for length in range(0, len(graph) - 40, 97):
        (folder / "model.onnx").write_bytes(graph[:length])
        with pytest.raises((ModelError, UnsupportedModelError), match=r"model\.onnx"):
            read_genai_folder(folder)


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no genai_config\.json"):
        read_genai_folder(tmp_path)
