"""Sources of a few bytes that state sizes of gigabytes are refused before a framework starts."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.importers.source_kinds import source_kind
from arenite.errors import ModelError
from tests.converters.importers.outline import source_files as files

_LARGE = 1 << 29


def _dense(path: Path, units: int) -> Path:
    return files.keras_file(path / "m.keras", [files.keras_layer("Dense", "d", (None, 8), units=units)], (8,))


def _torch_weight(path: Path, size: int) -> Path:
    return files.picture_torch(path / "m.pt2", weight=(size, 3, 3, 3))


def _onnx_input(path: Path, size: int) -> Path:
    return files.picture_onnx(path / "m.onnx", shape=(1, 3, size, 1))


def _saved_variable(path: Path, size: int) -> Path:
    shape = files.field(7, files.tf_shape((3, size)))
    nodes = [files.tf_node("VarHandleOp", "v", dtype=files.field(6, 1), shape=shape)]
    return files.saved_model(path / "m", [*nodes, files.tf_node("Mul", "y", ["x", "v"])])


def _saved_constant(path: Path, size: int) -> Path:
    """A constant whose values are all equal has only one of them in the file."""
    tensor = files.field(1, 1) + files.field(2, files.tf_shape((size,)))
    nodes = [files.tf_node("Const", "c", value=files.field(8, tensor)), files.tf_node("Add", "y", ["c"])]
    return files.saved_model(path / "m", nodes)


def _saved_result(path: Path, size: int) -> Path:
    shapes = files.field(1, files.field(7, files.tf_shape((1, size))))
    return files.saved_model(path / "m", [files.tf_node("Fill", "y", ["x"], _output_shapes=shapes)])


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (_dense, "states 4,831,838,208 weights, which would take 19,327,352,832 bytes"),
        (_torch_weight, "states 14,495,514,624 weights"),
        (_onnx_input, "'image' has 1,610,612,736 values; the limit is 268,435,456"),
        (_saved_variable, "'v' has 1,610,612,736 values"),
        (_saved_constant, "'c' has 536,870,912 values"),
        (_saved_result, "'y' has 536,870,912 values"),
    ],
)
def test_a_size_that_the_file_does_not_explain_is_refused(
    tmp_path: Path, write: Callable[[Path, int], Path], words: str
) -> None:
    path = str(write(tmp_path, 100))
    assert read_outline(path, source_kind(path)) is not None
    (tmp_path / "large").mkdir()
    path = str(write(tmp_path / "large", _LARGE))
    with pytest.raises(ModelError, match=words) as error:
        read_outline(path, source_kind(path))
    assert "smaller model" in error.value.hint


def test_weights_may_take_more_memory_if_their_file_is_large(tmp_path: Path) -> None:
    """Weights of a pruned model may be compressed: 80 MB in a file of 10 MB."""
    path = _dense(tmp_path, 2_222_222)
    with pytest.raises(ModelError, match="the limit for a file of its size is 67,108,864"):
        read_outline(str(path), "keras")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model.weights.h5", bytes(10_000_000))
    assert read_outline(str(path), "keras") is not None
