"""Tests of the option for model variants, with models of any input size and models in NCHW order."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.server_setup import ModelServers
from arenite.host.camera.session import CameraSession
from arenite.host.camera.several.variant_options import parse_variant, with_input_size
from tests.host.camera.runtimes.small_models import onnx_mean

PREPROCESSING = """
[preprocessing.source]
kind = "image"
[[preprocessing.steps]]
do = "resize"
width = 48
height = 40
[[preprocessing.steps]]
do = "normalise"
divide = 255.0
"""


@pytest.fixture
def resizable_model(tmp_path: Path) -> tuple[Path, Path]:
    """Return the paths of two files: a model with any input size, and preprocessing steps that set the size."""
    model, steps = tmp_path / "mean.onnx", tmp_path / "steps.toml"
    model.write_bytes(onnx_mean())
    steps.write_text(PREPROCESSING)
    return model, steps


def test_the_label_of_a_variant_names_file_size_and_runtime() -> None:
    assert parse_variant("a/b.onnx@160x96@onnx-cpu").label == "b.onnx 160x96 onnx-cpu"


def test_the_input_size_is_set_in_nchw_and_nhwc_order(tmp_path: Path) -> None:
    path = tmp_path / "mean.onnx"
    path.write_bytes(onnx_mean(64, 80))
    model = open_model(str(path))
    assert model.inputs[0].shape == (1, 3, 64, 80) and not model.any_size
    assert with_input_size(model, (40, 32)).inputs[0].shape == (1, 3, 32, 40)
    nhwc_model = open_model("vww")
    assert with_input_size(nhwc_model, (40, 32)).inputs[0].shape == (1, 32, 40, 3)


def test_a_model_of_any_size_takes_the_size_of_its_preprocessing(resizable_model: tuple[Path, Path]) -> None:
    model = open_model(str(resizable_model[0]), preprocessing=resizable_model[1])
    assert model.any_size and model.inputs[0].shape == (1, 3, 40, 48)
    with pytest.raises(UsageError, match="any size"):
        open_model(str(resizable_model[0]))


@pytest.mark.parametrize("size_suffix", ["", "@64x56"])
def test_variants_may_have_different_input_sizes(
    resizable_model: tuple[Path, Path], size_suffix: str
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    options = CameraOptions.of(
        sources=("synthetic",), model=f"{resizable_model[0]}{size_suffix}", variants=(f"{resizable_model[0]}@32x24",),
        preprocessing=resizable_model[1],
        width=64, height=64, frames=3, overlap=True,
    )  # fmt: skip
    with CameraSession(options) as session:
        ladder = session.servers.server
        shapes = set()
        for variant in ladder.variants:  # type: ignore[attr-defined]
            server = variant.open()
            shapes.add(server.runtime.slots[0].inputs[0].shape)
            server.close()
        assert shapes == {(1, 3, 56, 64) if size_suffix else (1, 3, 40, 48), (1, 3, 24, 32)}
        ladder.move(1)  # type: ignore[attr-defined]
        assert ladder.wait(60)  # type: ignore[attr-defined]
        record = session.run().to_json()
    assert record["ladder"]["level"] == 1 and record["frames"]["served"] == 3
    assert record["last_answer"]["0"]["classes"][0]["score"] > 0.2


def test_a_size_that_does_not_fit_the_answers_raises_an_error() -> None:
    with pytest.raises(UsageError):
        ModelServers(CameraOptions.of(model="blazeface", variants=("blazeface@64x64",)), 1)
