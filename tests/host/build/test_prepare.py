"""A model and the image that was written from it lead to the same firmware. The generated C has comments, and lines of
limited length."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import parse_image as load_image_bytes
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.model_source import model_sources
from arenite.host.bench.reference import Reference
from arenite.host.build.fit import choose
from arenite.host.build.prepare import Prepared, prepare, prepare_image
from arenite.profiles.boards import load_board
from tests.converters import small_models
from tests.converters.passes.constant_channel_models import assert_same, dead_channel_model
from tests.converters.passes.loops.recurrent_models import quantized, recurrent_model

MODELS = [small_models.conv_net, small_models.int16_net, small_models.with_state]


def prepared(folder: Path, data: bytes) -> Prepared:
    """Write a model file into a new folder, and return the planned model."""
    folder.mkdir()
    path = folder / "net.tflite"
    path.write_bytes(data)
    return prepare(path)


@pytest.mark.parametrize("model", [m() for m in MODELS], ids=[m.__name__ for m in MODELS])
def test_preparing_an_image_again_does_not_change_it(tmp_path: Path, model: Model) -> None:
    first = prepared(tmp_path / "model", to_flatbuffer(model))
    second = prepared(tmp_path / "image", first.image)
    assert second.image == first.image
    assert second.sha256 != first.sha256 == second.source_sha256
    assert model_sources(second.generated) == model_sources(first.generated)


def test_an_image_has_the_copies_of_a_loop_and_gives_the_same_firmware(tmp_path: Path) -> None:
    """Stock runtimes must be able to run an image, so it has a copy of the operators for each step of a loop. Every
    command finds the loop again in the copies."""
    model = quantized(recurrent_model("lstm"))
    first = prepared(tmp_path / "model", to_flatbuffer(model))
    assert [r.name for r in first.passes] == ["loops"]
    image = load_image_bytes(first.image)
    assert {op.name for op in image.model.main.ops} == {op.name for op in model.main.ops}
    assert image.plan is not None and len(image.plan.order) == len(image.model.main.ops)
    second = prepared(tmp_path / "image", first.image)
    assert second.image == first.image
    assert model_sources(second.generated) == model_sources(first.generated)
    unrolled = prepare(tmp_path / "image" / "net.tflite", passes=False)
    assert unrolled.image == first.image and not unrolled.passes
    assert len(unrolled.model.main.ops) == len(model.main.ops)


def test_the_plan_of_all_copies_of_a_loop_is_made_only_when_it_is_used(tmp_path: Path) -> None:
    """The plan of all copies takes most of the time of ``arenite fit``, whose results do not depend on it."""
    first = prepared(tmp_path / "model", to_flatbuffer(quantized(recurrent_model("lstm"))))
    assert first.unrolled is not None
    assert choose(first, load_board("qemu_mps2_an386")).verdict.fits
    assert "plan" not in vars(first.unrolled) and "image" not in vars(first)
    assert first.generated.sha256 == hashlib.sha256(first.image).digest()
    assert "plan" in vars(first.unrolled)


def test_an_invalid_plan_of_an_image_with_copies_is_reported_at_once(tmp_path: Path) -> None:
    first = prepared(tmp_path / "model", to_flatbuffer(quantized(recurrent_model("gru"))))
    image = load_image_bytes(first.image)
    assert image.plan is not None
    broken = replace(image, plan=replace(image.plan, order=image.plan.order[::-1]))
    second = prepare_image(broken, tmp_path / "image.tflite")
    assert any("own plan does not match" in note for note in second.notes)
    assert second.image == first.image


@pytest.mark.parametrize("model", [m() for m in MODELS], ids=[m.__name__ for m in MODELS])
def test_generated_c_has_a_comment_per_layer_and_lines_of_readable_length(
    tmp_path: Path, model: Model
) -> None:
    generated = prepared(tmp_path / "model", to_flatbuffer(model)).generated
    text = model_sources(generated)["model.c"]
    for layer in generated.layers:
        assert f"/* {layer.index:3d}  {layer.op.name} " in text
    assert max(map(len, text.splitlines())) <= 120
    assert "->  " not in text and " -> ," not in text


def dead_channel_file(tmp_path: Path) -> Path:
    """Write a network with channels that a graph pass removes. Return the path of the file."""
    path = tmp_path / "dead_channels.tflite"
    path.write_bytes(to_flatbuffer(dead_channel_model([44, 1])))
    return path


def test_the_source_model_stays_the_reference_of_optimized_models(tmp_path: Path) -> None:
    path = dead_channel_file(tmp_path)
    optimized, unoptimized = prepare(path), prepare(path, passes=False)
    assert [r.name for r in optimized.passes] == ["constant channels"] and not unoptimized.passes
    assert optimized.macs < optimized.source_macs == unoptimized.macs == unoptimized.source_macs
    assert len(optimized.image) < len(unoptimized.image)
    assert set(optimized.passes[0].notes) <= set(optimized.notes)
    assert optimized.reference == unoptimized.reference
    assert_same(optimized.source, optimized.model)
    assert [d["shape"].tolist() for d in Reference(optimized.image).outputs] == [
        d["shape"].tolist() for d in Reference(optimized.reference).outputs
    ]


def test_preparing_the_image_of_an_optimized_model_does_not_change_it(tmp_path: Path) -> None:
    first = prepare(dead_channel_file(tmp_path))
    (tmp_path / "image.tflite").write_bytes(first.image)
    second = prepare(tmp_path / "image.tflite")
    assert second.image == first.image and not second.passes
    assert second.source_macs == first.macs  # an image records only the hash of its source model


def test_an_image_made_without_passes_is_planned_again_with_them(tmp_path: Path) -> None:
    path = dead_channel_file(tmp_path)
    (tmp_path / "image.tflite").write_bytes(prepare(path, passes=False).image)
    assert prepare(tmp_path / "image.tflite").image == prepare(path).image
