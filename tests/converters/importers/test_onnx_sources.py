"""Conversion of ONNX models, with the real frameworks."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from arenite.converters.importers.environments import environment
from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.outline.onnx2tf_operators import ONNX2TF_OPERATORS
from arenite.converters.tflite.reader import parse
from arenite.errors import ModelError, UsageError
from tests.converters.importers.framework_results import FrameworkResults, compute_results

pytestmark = pytest.mark.frameworks

#: The permutation of axes from NCHW to NHWC.
_TO_NHWC = (0, 2, 3, 1)

#: Maps each model whose weights are not in an ordinary file beside it to words of the expected error.
_REFUSED_LOCATIONS = {
    "above": "not below the model's folder",
    "absolute": "not below the model's folder",
    "missing": "is missing",
    "link/external": "is a link or not a file",
    "linked_folder/external": "is a link or not a file",
    "hard_link/external": "a file with several names",
}
#: Maps each model of a few bytes that takes gigabytes to words of the expected error.
_EXPANDING = {
    "sparse": "the limit for files of this size is 2,147,483,648",
    "filled": "tensor 'large' has 1,500,000,000 values",
    "expanded": "tensor 'large' has 1,500,000,000 values",
    "doubled": "has 536,870,912 values",
}
#: Models that are converted without options.
_PLAIN = (
    "net",
    "padded",
    "pair",
    "sequence",
    "cut",
    "quantized",
    "external",
    *_REFUSED_LOCATIONS,
    *_EXPANDING,
)
_ACTIVATIONS = ("gelu_div", "gelu_mul", "gelu_tanh", "softsign")
_ERFS = ("erf", "not_gelu")
_RECURRENT = ("gru", "gru_keras", "gru_both", "lstm", "lstm_both", "lstm_reverse", "rnn_relu")
_LAYOUTS = ("nhwc", "nhwc_grey", "four")
_REFUSED_RECURRENT = ("lstm_short", "lstm_long")


def _jobs(framework: FrameworkProcess, folder: Path) -> dict:
    """Return the imports by name. A name with " kept" has other options; "?" is without a required option."""

    def job(name: str, options: ImportOptions | None = None):
        return lambda: framework.convert(str(folder / name), "onnx", None, options)

    names = (*_PLAIN, *_ACTIVATIONS, *_ERFS, *_RECURRENT, *_REFUSED_RECURRENT, *_LAYOUTS, "scaler")
    (folder / "cut.onnx").write_bytes((folder / "net.onnx").read_bytes()[:200])
    (folder / "secret").write_bytes((folder / "external.bin").read_bytes())
    for name in ("link", "hard_link", "linked_folder"):
        (folder / name).mkdir()
        (folder / name / "external.onnx").write_bytes((folder / "external.onnx").read_bytes())
    (folder / "link/external.bin").symlink_to(folder / "secret")
    (folder / "hard_link/external.bin").hardlink_to(folder / "secret")
    # The new path has as many bytes as the old one, so the file stays a valid protocol buffer.
    nested = (folder / "external.onnx").read_bytes().replace(b"\x0cexternal.bin", b"\x0cfolde/ext.bi")
    (folder / "linked_folder/external.onnx").write_bytes(nested)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/ext.bi").write_bytes((folder / "external.bin").read_bytes())
    (folder / "linked_folder/folde").symlink_to(folder / "elsewhere")
    return {
        **{f"{name}.onnx": job(f"{name}.onnx") for name in names},
        "net.onnx kept": job("net.onnx", ImportOptions(keep_layout=True)),
        "open.onnx": job("open.onnx", ImportOptions(shape={"image": (1, 3, 16, 8)})),
        "open.onnx?": job("open.onnx"),
    }


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> FrameworkResults:
    """Return the results of all imports."""
    return compute_results("onnx", tmp_path_factory, _jobs)


@pytest.mark.parametrize("name", _EXPANDING)
def test_a_small_file_that_takes_gigabytes_is_refused(results: FrameworkResults, name: str) -> None:
    results.refused(f"{name}.onnx", ModelError, _EXPANDING[name])


@pytest.mark.parametrize(
    ("name", "expected", "permutation"),
    [
        ("net.onnx", "net.onnx", _TO_NHWC),
        ("net.onnx kept", "net.onnx", None),
        ("open.onnx", "open.onnx", _TO_NHWC),
        ("padded.onnx", "padded.onnx", _TO_NHWC),
        ("pair.onnx", "pair.onnx", None),
        ("sequence.onnx", "sequence.onnx", None),
        ("external.onnx", "external.onnx", None),
    ],
)
def test_a_model_agrees_with_onnx_runtime(
    results: FrameworkResults, name: str, expected: str, permutation: tuple[int, ...] | None
) -> None:
    result = results.imported(name)
    assert (result.kind, result.quantized) == ("onnx", False)
    assert results.largest_difference(name, expected, permutation) < 2e-6
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


def test_inputs_and_outputs_have_the_names_and_order_of_the_source(results: FrameworkResults) -> None:
    model = parse(results.imported("pair.onnx").flatbuffer)
    assert [model.main.tensors[i].name for i in model.main.inputs] == ["in:b/0", "a.1"]
    assert [name for name, _ in model.signatures[0].outputs] == ["sq", "d"]


def test_an_open_dimension_asks_for_an_input_shape(results: FrameworkResults) -> None:
    results.refused("open.onnx?", UsageError, "Dimension 2 of input 'image'", "--input-shape 1,3,?,?")


def test_a_damaged_file_is_an_error(results: FrameworkResults) -> None:
    results.refused("cut.onnx", ModelError, "cut.onnx is not a valid ONNX model")


def test_a_quantized_model_is_refused(results: FrameworkResults) -> None:
    results.refused("quantized.onnx", ModelError, "already quantized", "DequantizeLinear", "float model")


def _operators(results: FrameworkResults, name: str) -> Counter[str]:
    """Return the number of operators of each kind in the imported model."""
    model = parse(results.imported(name).flatbuffer)
    return Counter(op.name for g in model.subgraphs for op in g.ops)


@pytest.mark.parametrize("name", _ACTIVATIONS)
def test_an_activation_that_tflite_lacks_is_converted(results: FrameworkResults, name: str) -> None:
    assert results.largest_difference(f"{name}.onnx", f"{name}.onnx") < 2e-6
    operators = _operators(results, f"{name}.onnx")
    assert operators["GELU"] == (1 if name.startswith("gelu") else 0)
    if name.startswith("gelu"):
        assert set(operators) == {"FULLY_CONNECTED", "GELU"}
        (gelu,) = (o for o in parse(results.imported(f"{name}.onnx").flatbuffer).main.ops if o.name == "GELU")
        assert gelu.options["approximate"] is (name == "gelu_tanh")


@pytest.mark.parametrize("name", _ERFS)
def test_an_erf_outside_of_a_gelu_is_approximated(results: FrameworkResults, name: str) -> None:
    assert results.largest_difference(f"{name}.onnx", f"{name}.onnx") < 1e-3
    assert "TANH" in _operators(results, f"{name}.onnx")
    assert any("(Erf) is approximated to within 0.0003" in n for n in results.imported(f"{name}.onnx").notes)


@pytest.mark.parametrize("name", _RECURRENT)
def test_a_recurrent_layer_is_unrolled(results: FrameworkResults, name: str) -> None:
    assert results.largest_difference(f"{name}.onnx", f"{name}.onnx") < 2e-6
    model = parse(results.imported(f"{name}.onnx").flatbuffer)
    assert len(model.subgraphs) == 1 and "WHILE" not in _operators(results, f"{name}.onnx")
    (note,) = (n for n in results.imported(f"{name}.onnx").notes if "unrolled" in n)
    assert "'/rnn/" in note and "6 steps" in note


def test_a_recurrent_layer_that_cannot_be_unrolled_is_refused_by_name(results: FrameworkResults) -> None:
    results.refused("lstm_long.onnx", ModelError, "'/rnn/LSTM'", "2001 time steps", "at most 2000", "stride")
    results.refused("lstm_short.onnx", ModelError, "'/rnn/LSTM'", "a length of its own", "pad the inputs")


@pytest.mark.parametrize("name", _REFUSED_LOCATIONS)
def test_weights_are_read_only_from_files_beside_the_model(results: FrameworkResults, name: str) -> None:
    """Otherwise the bytes of any file of the computer could become weights of the converted model."""
    results.refused(f"{name}.onnx", ModelError, _REFUSED_LOCATIONS[name], "Copy the file with the weights")


@pytest.mark.parametrize(("name", "shape"), [("nhwc", (1, 12, 8, 3)), ("nhwc_grey", (1, 12, 8, 1))])
def test_an_input_that_is_nhwc_already_stays_so(
    results: FrameworkResults, name: str, shape: tuple[int, ...]
) -> None:
    model = parse(results.imported(f"{name}.onnx").flatbuffer)
    assert model.main.tensors[model.main.inputs[0]].shape == shape
    assert results.largest_difference(f"{name}.onnx", f"{name}.onnx") < 2e-6
    assert "TRANSPOSE" not in _operators(results, f"{name}.onnx")
    assert any("stays NHWC" in n for n in results.imported(f"{name}.onnx").notes)


def test_an_assumed_layout_is_reported(results: FrameworkResults) -> None:
    assert results.largest_difference("four.onnx", "four.onnx", _TO_NHWC) < 2e-6
    assert any(
        "assumed to be NCHW" in n and "--keep-layout" in n for n in results.imported("four.onnx").notes
    )
    assert not any("assumed" in n for n in results.imported("net.onnx").notes)


def test_an_operator_that_the_converter_lacks_is_refused_by_name(results: FrameworkResults) -> None:
    results.refused("scaler.onnx", ModelError, "'scale' (Scaler)", "scikit-learn")
    assert "ModuleNotFoundError" not in str(results.results["scaler.onnx"])


def test_outlines_agree_with_the_imported_models(results: FrameworkResults) -> None:
    assert results.check_outlines() >= 5


def test_the_list_of_operators_is_that_of_onnx2tf() -> None:
    code = "import importlib.util as u; print(u.find_spec('onnx2tf').submodule_search_locations[0])"
    python = str(environment("onnx").python)
    package = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    modules = {path.stem for path in (Path(package) / "ops").glob("*.py")}
    assert {name for name in modules if not name.startswith("_")} == ONNX2TF_OPERATORS
