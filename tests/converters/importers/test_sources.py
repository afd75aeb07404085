"""The importer recognizes the kind of a source, imports TensorFlow Lite files and parses its options."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.importers.agreement import agreement
from arenite.converters.importers.imported_model import source_sha256
from arenite.converters.importers.litert_runs import run_litert
from arenite.converters.importers.sources import import_source, parse_shapes, source_kind
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import AreniteError, ModelError, UsageError
from tests.converters.importers.float_network import float_net
from tests.converters.small_models import Net, conv_net
from tests.development_models import shared_model


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("m.h5", b"", UsageError, "is empty"),
        ("m.h5", b"plain text", ModelError, "not a HDF5 file"),
        ("m.keras", b"plain text", ModelError, "not a Keras 3 file"),
        ("m.keras", b"PK\x03\x04 cut", ModelError, "damaged archive"),
        ("m.pt2", b"plain text", ModelError, "not a torch.export file"),
        ("m.tflite", b"plain text", ModelError, "not a TensorFlow Lite file"),
        ("m.tflite", b"\x1c\0\0\0TFL3 cut", ModelError, "m.tflite"),
        ("m.pth", b"\x80\x02pickle", UsageError, "module:function"),
        ("m.safetensors", b"weights", UsageError, "without a graph"),
        ("m.pb", b"\x08\x01", UsageError, "SavedModel folder"),
        ("m.txt", b"plain text", UsageError, ".tflite, .keras"),
    ],
)
def test_a_file_that_is_no_model_is_an_error(
    name: str, content: bytes, kind: type[AreniteError], message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AreniteError) as caught:
        source_kind(str(tmp_path / name))
    assert type(caught.value) is kind
    assert message in str(caught.value) and name in caught.value.problem and caught.value.hint


def test_a_path_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no saved_model\.pb"):
        source_kind(str(tmp_path))
    for missing in ("nothing.onnx", "a:b:c", "1x:net", "folder/net:make"):
        with pytest.raises(UsageError, match="There is no file or folder"):
            source_kind(missing)


def _archive(path: Path, *names: str) -> str:
    """Write a ZIP archive with files of these names, and return its path."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return str(path)


def test_the_kind_of_an_archive_depends_on_its_contents(tmp_path: Path) -> None:
    keras = _archive(tmp_path / "misnamed.zip", "config.json", "metadata.json", "model.weights.h5")
    assert source_kind(keras) == "keras"
    assert source_kind(_archive(tmp_path / "new.bin", "net/models/model.json")) == "torch-export"
    assert source_kind(_archive(tmp_path / "old.pt2", "serialized_exported_program.json")) == "torch-export"
    for name, message in (
        ("data.pkl", "checkpoint"),
        ("constants.pkl", "TorchScript"),
        ("readme", "archive"),
    ):
        with pytest.raises(UsageError, match=message):
            source_kind(_archive(tmp_path / f"{name}.pt", f"net/{name}"))
    np.savez(tmp_path / "x.npz", x=np.zeros(3))
    with pytest.raises(UsageError, match="--calibration"):
        source_kind(str(tmp_path / "x.npz"))


def test_saved_models_onnx_files_and_python_functions_are_recognized_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    assert source_kind(str(tmp_path)) == "saved_model"
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08")
    assert source_kind(str(tmp_path / "m.onnx")) == "onnx"
    assert source_kind("package.module:make_model") == "torch-factory"


def _save(tmp_path: Path, model: Model) -> str:
    """Write the model to a .tflite file and return its path."""
    path = tmp_path / "model.tflite"
    path.write_bytes(to_flatbuffer(model))
    return str(path)


@pytest.mark.parametrize(
    ("stored", "kind"),
    [("float32", "tflite-float32"), ("float16", "tflite-float16"), ("int8", "tflite-dynamic")],
)
def test_float_files_become_float32(stored: str, kind: str, tmp_path: Path) -> None:
    result = import_source(_save(tmp_path, float_net(stored)))
    assert (result.kind, result.quantized) == (kind, False)
    assert {t.dtype for t in parse(result.flatbuffer).main.tensors} == {"float32"}
    assert (result.agreement is None) == (stored == "float32")
    if result.agreement is not None:
        # Dynamic range kernels also quantize the activations; float16 weights are exact in float32.
        assert result.agreement.sqnr_db > (30 if stored == "int8" else 120)


def test_a_fixed_batch_larger_than_one_gives_a_note(tmp_path: Path) -> None:
    n = Net(2)
    x = n.tensor((4, 6), "float32", quant=None)
    n.inputs.append(x)
    y = n.op("RELU", [x], (4, 6), "float32", quant=None)
    result = import_source(_save(tmp_path, n.model([y])))
    assert any("[4, 6]: if its first dimension is a batch" in note for note in result.notes)
    assert not any("at once" in note for note in import_source(_save(tmp_path, float_net())).notes)


def test_a_quantized_file_is_not_changed(tmp_path: Path) -> None:
    path = _save(tmp_path, conv_net())
    result = import_source(path)
    assert (result.kind, result.quantized) == ("tflite-quantised", True)
    assert result.flatbuffer == Path(path).read_bytes()
    assert result.sha256 == source_sha256(path, result.kind)


def test_an_int8_model_with_float_inputs_and_outputs_is_quantized(tmp_path: Path) -> None:
    n = Net(2)
    x = n.tensor((1, 4), "float32", quant=None)
    n.inputs.append(x)
    q = n.op("QUANTIZE", [x], (1, 4))
    a = n.op("ADD", [q, q], (1, 4), options="AddOptions")
    y = n.op("DEQUANTIZE", [a], (1, 4), "float32", quant=None)
    result = import_source(_save(tmp_path, n.model([y])))
    assert result.kind == "tflite-quantised"


def test_a_real_dynamic_range_model_becomes_float32() -> None:
    path = shared_model("kws01_float32")
    result = import_source(str(path))
    assert result.kind == "tflite-dynamic"
    assert {t.dtype for t in parse(result.flatbuffer).main.tensors} == {"float32", "int32"}
    assert result.agreement is not None and result.agreement.sqnr_db > 30
    assert any("became float32" in note for note in result.notes)


def test_shape_options_are_parsed() -> None:
    assert parse_shapes(["1,3,96,96"]) == {"": (1, 3, 96, 96)}
    assert parse_shapes(["a/b=1x8", "c=1"]) == {"a/b": (1, 8), "c": (1,)}
    for bad in (["x"], ["1,0"], ["1,-2"], [""], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            parse_shapes(bad)


def test_the_hash_of_a_folder_depends_on_file_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "variables").mkdir()
    (tmp_path / "saved_model.pb").write_bytes(b"1")
    (tmp_path / "variables" / "v").write_bytes(b"2")
    first = source_sha256(str(tmp_path), "saved_model")
    (tmp_path / "variables" / "v").rename(tmp_path / "variables" / "w")
    assert source_sha256(str(tmp_path), "saved_model") != first


def test_the_agreement_equals_figures_computed_by_hand() -> None:
    source = [np.array([3.0, 4.0]), np.array([0.0])]
    converted = [np.array([3.0, 4.5]), np.array([0.0])]
    result = agreement([(source, converted), (source, source)], "nature 1")
    assert result is not None
    assert (result.samples, result.max_abs) == (2, 0.5)
    assert result.mean_abs == pytest.approx(0.5 / 6)
    assert result.sqnr_db == pytest.approx(10 * np.log10(50 / 0.25))
    assert agreement([], "nature 1") is None
    exact = agreement([(source, source)], "nature 1")
    assert exact is not None and exact.sqnr_db == np.inf and "exact" in str(exact)
    lost = agreement([(source, [np.array([np.nan, 4.0]), np.array([0.0])])], "nature 1")
    assert lost is not None and lost.max_abs == np.inf and lost.sqnr_db == -np.inf


def test_run_litert_quantizes_real_inputs() -> None:
    n = Net(3)
    x = n.input((1, 4))
    y = n.op("DEQUANTIZE", [x], (1, 4), "float32", quant=None)
    model = n.model([y])
    scale = model.main.tensors[x].scale
    ((out,),) = run_litert(
        to_flatbuffer(model), [[np.array([[0.0, 0.1, -0.2, 99.0]], np.float32)]], real=True
    )
    assert np.all(np.abs(out[0, :3] - [0.0, 0.1, -0.2]) <= scale / 2 + 1e-6)
    assert out[0, 3] < 99  # clipped to the range of int8
