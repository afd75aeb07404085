"""Conversion of torch.export programs and PyTorch model factories, with the real frameworks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.sources import source_kind
from arenite.converters.tflite.reader import parse
from arenite.errors import ModelError, UnsupportedModelError, UsageError
from tests.converters.importers.framework_results import MAKERS, FrameworkResults, compute_results

pytestmark = pytest.mark.frameworks

#: Maps files that would run code or read other files if PyTorch opened them without checks to words of the error.
_HOSTILE = {
    "inputs": "Weights only load failed",
    "expression": "the expression '__import__",
    "operator": "the operator 'torch.serialization.os.system'",
    "file": "aten.from_file",
    "constant": "opaque_obj_0",
    "library": "aotinductor",
    "large": "the limit is 2,147,483,648",
    "stretched": "values; at most",
    "wide": "values; at most 268,435,456",
}

#: The permutation of axes from NCHW to NHWC.
_TO_NHWC = (0, 2, 3, 1)


def _jobs(framework: FrameworkProcess, folder: Path) -> dict:
    """Return the imports by name. A name with " kept" has other options; "?" is without a required option."""

    def job(source: str, options: ImportOptions | None = None):
        program = source.endswith(".pt2")
        kind = "torch-export" if program else "torch-factory"
        return lambda: framework.convert(str(folder / source) if program else source, kind, None, options)

    tall = ImportOptions(shape={"image": (1, 3, 16, 8)})
    hostile = {f"{name}.pt2": job(f"{name}.pt2", tall) for name in (*_HOSTILE, "guard")}
    return hostile | {
        "net.pt2": job("net.pt2"),
        "open.pt2": job("open.pt2", tall),
        "open.pt2?": job("open.pt2"),
        "expanded.pt2": job("expanded.pt2"),
        "factory": job("factories:net"),
        "without form": job("factories:without_form"),
        "factory kept": job("factories:net", ImportOptions(keep_layout=True)),
        "bare": job("factories:bare", ImportOptions(shape={"": (1, 3, 12, 8)})),
        "bare?": job("factories:bare"),
        "number": job("factories:number"),
        "broken": job("factories:broken"),
        "upsampling": job("factories:upsampling"),
        "random slopes": job("factories:random_slopes"),
        "branch": job("factories:branch"),
        "ordered": job("factories:ordered"),
        "nothing": job("factories:nothing"),
        "nowhere": job("no_such_module:net"),
    }


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> FrameworkResults:
    """Return the results of all imports."""
    before = os.getcwd()
    os.chdir(MAKERS)  # a factory's module is looked for in the current folder
    try:
        return compute_results("torch", tmp_path_factory, _jobs)
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    ("name", "expected", "permutation"),
    [
        ("net.pt2", "net.pt2", _TO_NHWC),
        ("open.pt2", "open.pt2", _TO_NHWC),
        ("factory", "factory", _TO_NHWC),
        ("factory kept", "factory", None),
        ("bare", "factory", _TO_NHWC),
    ],
)
def test_a_model_agrees_with_pytorch(
    results: FrameworkResults, name: str, expected: str, permutation: tuple[int, ...] | None
) -> None:
    result = results.imported(name)
    assert result.kind == ("torch-export" if name.endswith(".pt2") else "torch-factory")
    assert not result.quantized
    assert results.largest_difference(name, expected, permutation) < 2e-6
    assert result.agreement is not None
    assert result.agreement.sqnr_db > 100
    assert result.agreement.source.startswith("torch 2.")


def test_images_become_channels_last_and_the_notes_say_so(results: FrameworkResults) -> None:
    for name, shape in (
        ("factory", (1, 12, 8, 3)),
        ("factory kept", (1, 3, 12, 8)),
        ("net.pt2", (1, 12, 8, 3)),
    ):
        result = results.imported(name)
        g = parse(result.flatbuffer).main
        assert [(g.tensors[i].name, g.tensors[i].shape) for i in g.inputs] == [("image", shape)]
        assert any("NHWC" in note for note in result.notes) == (name != "factory kept")


def test_open_shapes_ask_for_an_input_shape(results: FrameworkResults) -> None:
    results.refused("open.pt2?", UsageError, "Dimension 2 of input 'image'", "--input-shape 1,3,?,8")
    results.refused("bare?", UsageError, "without example inputs", "--input-shape")


def test_an_unusable_factory_is_an_error(results: FrameworkResults) -> None:
    results.refused("number", UsageError, "returned int")
    results.refused("broken", ModelError, "Cannot run factories:broken", "the weights are elsewhere")
    results.refused("nothing", UsageError, "no function 'nothing'")
    results.refused("nowhere", UsageError, "no module 'no_such_module'")


def test_a_checkpoint_is_not_a_program(results: FrameworkResults) -> None:
    assert source_kind(str(results.folder / "net.pt2")) == "torch-export"
    with pytest.raises(UsageError, match="module:function"):
        source_kind(str(results.folder / "weights.pt"))


@pytest.mark.parametrize("name", _HOSTILE)
def test_a_program_that_could_run_code_is_refused(results: FrameworkResults, name: str) -> None:
    results.refused(f"{name}.pt2", ModelError, _HOSTILE[name])
    assert not (results.folder / "code-ran").exists()


def test_guards_of_a_program_are_not_run(results: FrameworkResults) -> None:
    assert results.largest_difference("guard.pt2", "open.pt2", _TO_NHWC) < 2e-6
    assert not (results.folder / "code-ran").exists()


def test_a_transposed_convolution_with_output_padding_is_converted(results: FrameworkResults) -> None:
    result = results.imported("upsampling")
    assert result.agreement is not None and result.agreement.sqnr_db > 100
    model = parse(result.flatbuffer)
    assert model.main.tensors[model.main.outputs[0]].shape == (1, 30, 24, 2)
    assert sum(op.name == "TRANSPOSE_CONV" for op in model.main.ops) == 2


def test_rrelu_becomes_leaky_relu_with_its_mean_slope(results: FrameworkResults) -> None:
    result = results.imported("random slopes")
    assert result.agreement is not None and result.agreement.sqnr_db > 100
    slopes = [op.options["alpha"] for op in parse(result.flatbuffer).main.ops if op.name == "LEAKY_RELU"]
    # the means of PyTorch's default limits, 1/8 and 1/3, and of 0.5 and 0.7
    assert slopes == pytest.approx([(1 / 8 + 1 / 3) / 2, 0.6])


def test_a_layer_of_a_factory_that_cannot_run_is_named_as_in_pytorch(results: FrameworkResults) -> None:
    """The next jobs in the same process are not affected."""
    words = ("Layer 'order' (Order, aten.sort, factories.py line", "for which there is no kernel")
    results.refused("ordered", UnsupportedModelError, *words)
    results.refused("nothing", UsageError, "no function 'nothing'")


def test_values_that_a_program_repeats_are_not_refused(results: FrameworkResults) -> None:
    result = results.imported("expanded.pt2")
    assert result.agreement is not None and result.agreement.sqnr_db > 100


def test_the_error_of_a_branch_on_values_names_the_file_and_line(results: FrameworkResults) -> None:
    results.refused("branch", ModelError, "data-dependent", "factories.py line", "in forward")


def test_outlines_agree_with_the_imported_models(results: FrameworkResults) -> None:
    assert results.check_outlines() >= 3


def test_an_operator_that_cannot_be_converted_is_named_with_its_module_and_line(
    results: FrameworkResults,
) -> None:
    results.refused(
        "without form",
        ModelError,
        "layer '1.1' (Bessel, aten.special_bessel_j0",
        "factories.py line",
        "Replace this layer",
    )
