"""A model and the image made from it lead to the same firmware, and the generated C reads well."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.converters.flatbuffer import to_flatbuffer
from arenite.converters.graph import Model
from arenite.firmware.generator.emit import sources
from arenite.host.prepare import Prepared, prepare
from tests.converters import small_models

MODELS = [small_models.conv_net, small_models.int16_net, small_models.with_state]


def prepared(folder: Path, data: bytes) -> Prepared:
    folder.mkdir()
    path = folder / "net.tflite"
    path.write_bytes(data)
    return prepare(path)


@pytest.mark.parametrize("model", [m() for m in MODELS], ids=[m.__name__ for m in MODELS])
def test_an_image_of_an_image_is_the_same_image(tmp_path: Path, model: Model) -> None:
    first = prepared(tmp_path / "model", to_flatbuffer(model))
    second = prepared(tmp_path / "image", first.image)
    assert second.image == first.image
    assert second.sha256 != first.sha256 == second.source_sha256
    assert sources(second.generated) == sources(first.generated)


@pytest.mark.parametrize("model", [m() for m in MODELS], ids=[m.__name__ for m in MODELS])
def test_generated_c_has_a_comment_per_layer_and_lines_of_readable_length(
    tmp_path: Path, model: Model
) -> None:
    made = prepared(tmp_path / "model", to_flatbuffer(model)).generated
    text = sources(made)["model.c"]
    for layer in made.layers:
        assert f"/* {layer.index:3d}  {layer.op.name} " in text
    assert max(map(len, text.splitlines())) <= 120
    assert "->  " not in text and " -> ," not in text
