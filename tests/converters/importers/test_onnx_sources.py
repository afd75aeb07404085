"""Conversion of ONNX models, with the real frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.tflite.reader import parse
from arenite.errors import ModelError, UsageError
from tests.converters.importers.framework_results import FrameworkResults, compute_results

pytestmark = pytest.mark.frameworks

_LAST = (0, 2, 3, 1)

#: Converted without options.
_PLAIN = ("net", "padded", "pair", "sequence", "cut", "quantized")


def _jobs(framework: FrameworkProcess, folder: Path) -> dict:
    def job(name: str, options: ImportOptions | None = None):
        return lambda: framework.convert(str(folder / name), "onnx", None, options)

    (folder / "cut.onnx").write_bytes((folder / "net.onnx").read_bytes()[:200])
    return {
        **{f"{name}.onnx": job(f"{name}.onnx") for name in _PLAIN},
        "net.onnx kept": job("net.onnx", ImportOptions(keep_layout=True)),
        "open.onnx": job("open.onnx", ImportOptions(shape={"image": (1, 3, 16, 8)})),
        "open.onnx?": job("open.onnx"),
    }


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> FrameworkResults:
    return compute_results("onnx", tmp_path_factory, _jobs)


@pytest.mark.parametrize(
    ("name", "expected", "turn"),
    [
        ("net.onnx", "net.onnx", _LAST),
        ("net.onnx kept", "net.onnx", None),
        ("open.onnx", "open.onnx", _LAST),
        ("padded.onnx", "padded.onnx", _LAST),
        ("pair.onnx", "pair.onnx", None),
        ("sequence.onnx", "sequence.onnx", None),
    ],
)
def test_a_model_agrees_with_onnx_runtime(
    results: FrameworkResults, name: str, expected: str, turn: tuple[int, ...] | None
) -> None:
    result = results.imported(name)
    assert (result.kind, result.quantized) == ("onnx", False)
    assert results.largest_difference(name, expected, turn) < 2e-6
    assert result.agreement is not None
    assert result.agreement.sqnr_db > 100
    assert result.agreement.source.startswith("onnxruntime")


def test_images_become_channels_last_and_the_notes_say_so(results: FrameworkResults) -> None:
    nhwc, nchw = results.imported("net.onnx"), results.imported("net.onnx kept")
    shapes = [
        parse(r.flatbuffer).main.tensors[parse(r.flatbuffer).main.inputs[0]].shape for r in (nhwc, nchw)
    ]
    assert shapes == [(1, 12, 8, 3), (1, 3, 12, 8)]
    assert any("NHWC" in note for note in nhwc.notes)
    assert not any("NHWC" in note for note in nchw.notes)
    assert "TRANSPOSE" not in [op.name for op in parse(nhwc.flatbuffer).main.ops]


def test_names_and_order_are_those_of_the_source(results: FrameworkResults) -> None:
    model = parse(results.imported("pair.onnx").flatbuffer)
    assert [model.main.tensors[i].name for i in model.main.inputs] == ["in:b/0", "a.1"]
    assert [name for name, _ in model.signatures[0].outputs] == ["sq", "d"]


def test_an_open_dimension_asks_for_an_input_shape(results: FrameworkResults) -> None:
    results.refused("open.onnx?", UsageError, "Dimension 2 of input 'image'", "--input-shape 1,3,?,?")


def test_a_damaged_file_is_an_error(results: FrameworkResults) -> None:
    results.refused("cut.onnx", ModelError, "cut.onnx is not a valid ONNX model")


def test_a_quantized_model_is_refused(results: FrameworkResults) -> None:
    results.refused("quantized.onnx", ModelError, "already quantized", "DequantizeLinear", "float model")
