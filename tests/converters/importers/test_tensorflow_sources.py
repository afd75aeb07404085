"""Conversion of Keras 3, Keras 2, SavedModel and optimization toolkit models, with the real frameworks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from arenite.converters.graph.model import Model
from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.tflite.reader import parse
from arenite.errors import ModelError, UsageError
from tests.converters.importers.framework_results import FrameworkResults, compute_results

pytestmark = pytest.mark.frameworks

#: Files whose ending does not decide their kind, and the kind that their content decides.
_OTHER_KINDS = {"both.h5": "keras"}

_KINDS = {".keras": "keras", ".h5": "keras-h5", "": "saved_model"}

#: Allowed difference between float32 sums computed in different orders, for values up to about 1.
_ROUNDING = 2e-6


def _jobs(framework: FrameworkProcess, folder: Path) -> dict:
    """Return the imports by name. After "?", "!" or ":", a job has other options."""

    def job(name: str, options: ImportOptions | None = None, inputs=None):
        kind = _OTHER_KINDS.get(name) or _KINDS[(folder / name).suffix]
        return lambda: framework.convert(str(folder / name), kind, inputs, options)

    def calibration(model: Model) -> list[list[np.ndarray]]:
        assert [model.main.tensors[i].shape for i in model.main.inputs] == [(1, 8, 8, 3)]
        return [[np.full((1, 8, 8, 3), k / 10, np.float32)] for k in range(5)]

    (folder / "cut.h5").write_bytes((folder / "keras3.h5").read_bytes()[:3000])
    (folder / "cut").mkdir()
    (folder / "cut" / "saved_model.pb").write_bytes((folder / "saved" / "saved_model.pb").read_bytes()[:100])
    names = [p.name for p in folder.iterdir() if p.suffix in _KINDS and p.name != "open.keras"]
    jobs = {name: job(name) for name in sorted(names)}
    jobs["keras3.keras"] = job("keras3.keras", inputs=calibration)
    jobs["open.keras"] = job("open.keras", ImportOptions(shape={"": (1, 8, 8, 3)}))
    jobs["open.keras?"] = job("open.keras")
    jobs["open.keras!"] = job("open.keras", ImportOptions(shape={"": (1, 8, 8, 1)}))
    jobs["several:triple"] = job("several", ImportOptions(signature="triple"))
    jobs["several:half"] = job("several", ImportOptions(signature="half"))
    jobs["two.keras?"] = job("two.keras", ImportOptions(shape={"middle": (1, 4)}))
    return jobs


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> FrameworkResults:
    """Return the results of all imports."""
    return compute_results("tensorflow", tmp_path_factory, _jobs)


def _inputs(flatbuffer: bytes) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (name, shape, type) of every input."""
    g = parse(flatbuffer).main
    return [(g.tensors[i].name, g.tensors[i].shape, g.tensors[i].dtype) for i in g.inputs]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("keras3.keras", "keras"),
        ("keras3.h5", "keras-h5"),
        ("keras2.h5", "keras-h5"),
        ("saved", "saved_model"),
        ("open.keras", "keras"),
        ("swish.keras", "keras"),
        ("lstm.keras", "keras"),
        ("masked.keras", "keras"),
        ("deep.h5", "keras-h5"),
        ("pruned.h5", "keras-h5"),
        ("clustered.h5", "keras-h5"),
    ],
)
def test_a_float_model_agrees_with_its_framework(results: FrameworkResults, name: str, kind: str) -> None:
    result = results.imported(name)
    assert (result.kind, result.quantized) == (kind, False)
    assert results.largest_difference(name, name) < _ROUNDING
    assert result.agreement is not None
    assert result.agreement.max_abs < _ROUNDING
    assert result.agreement.sqnr_db > 100
    assert len(result.sha256) == 64
    assert result.made_by["tensorflow"].startswith("2.")


def test_each_model_is_loaded_by_the_framework_that_saved_it(results: FrameworkResults) -> None:
    sources = {n: results.imported(n).agreement for n in ("keras3.h5", "keras2.h5", "saved")}
    named = {n: a.source.split()[0] for n, a in sources.items() if a is not None}
    assert named == {"keras3.h5": "keras", "keras2.h5": "tf_keras", "saved": "tensorflow"}


def test_calibration_inputs_and_random_inputs_are_compared(results: FrameworkResults) -> None:
    with_five, without = results.imported("keras3.keras").agreement, results.imported("keras3.h5").agreement
    assert with_five is not None and without is not None
    # 5 calibration samples and 8 random samples
    assert (with_five.samples, without.samples) == (13, 8)


def test_batch_normalization_is_folded_and_shapes_are_static(results: FrameworkResults) -> None:
    model = parse(results.imported("keras3.keras").flatbuffer)
    names = [op.name for op in model.main.ops]
    assert names == ["CONV_2D", "DEPTHWISE_CONV_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX"]
    assert not model.repairs


def test_several_inputs_and_outputs_keep_the_order_of_the_model(results: FrameworkResults) -> None:
    result = results.imported("two.keras")
    assert [(n, s) for n, s, _ in _inputs(result.flatbuffer)] == [("right", (1, 4)), ("left", (1, 3))]
    assert results.largest_difference("two.keras", "two.keras") < _ROUNDING
    assert [n for n, _, _ in _inputs(results.imported("named.keras").flatbuffer)] == ["left", "right"]
    assert results.largest_difference("named.keras", "named.keras") < _ROUNDING


def test_recurrent_layers_are_unrolled_without_a_loop(results: FrameworkResults) -> None:
    result = results.imported("lstm.keras")
    assert "WHILE" not in [op.name for op in parse(result.flatbuffer).main.ops]
    assert any("6 steps" in note for note in result.notes)


def test_recurrent_layers_that_cannot_be_unrolled_are_refused_by_name(results: FrameworkResults) -> None:
    results.refused("gru_long.keras", ModelError, "'long' (GRU)", "2001 time steps", "at most 2000", "stride")
    for name, layer in (("both_ways", "'ways' (Bidirectional)"), ("backwards", "'turned' (GRU)")):
        results.refused(f"stateful_{name}.keras", ModelError, layer, "from its end", "stateful=False")


@pytest.mark.parametrize(
    "name",
    [*(f"{kind}.keras" for kind in ("lstm", "gru", "gru_before", "rnn", "stacked")), "stacked.h5"],
)
def test_a_stateful_layer_keeps_its_state_between_inferences(results: FrameworkResults, name: str) -> None:
    result = results.imported(f"stateful_{name}")
    assert any("keeps its state" in note for note in result.notes)
    with np.load(results.folder / f"stateful_{name}.npz") as file:
        parts, expected, whole = file["x"], file["y"], file["whole"]
    names = [op.name for op in parse(result.flatbuffer).main.ops]
    assert names.count("READ_VARIABLE") == names.count("ASSIGN_VARIABLE") == names.count("CALL_ONCE") > 0
    interpreter = Interpreter(model_content=result.flatbuffer)  # it keeps variables between inferences
    interpreter.allocate_tensors()
    (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
    for part, output in zip(parts, expected, strict=True):
        interpreter.set_tensor(source["index"], part[None])
        interpreter.invoke()
        np.testing.assert_allclose(interpreter.get_tensor(target["index"]), output, atol=_ROUNDING)
    np.testing.assert_allclose(interpreter.get_tensor(target["index"]), whole, atol=_ROUNDING)


@pytest.mark.parametrize("name", ["qat.h5", "qat_saved"])
def test_a_quantization_aware_trained_model_stays_int8(results: FrameworkResults, name: str) -> None:
    result = results.imported(name)
    assert result.quantized
    ((_, shape, dtype),) = _inputs(result.flatbuffer)
    assert (shape, dtype) == ((1, 8, 8, 3), "int8")
    model = parse(result.flatbuffer)
    assert all(t.dtype in ("int8", "int32") for t in model.main.tensors)
    step = model.main.tensors[model.main.outputs[0]].scale
    assert results.largest_difference(name, "qat") < 2.01 * step
    with np.load(results.folder / "qat.npz") as file:
        assert np.ptp(file["y0"]) > 10 * step
    assert result.agreement is not None and result.agreement.sqnr_db > 25
    assert any("trained ranges" in note for note in result.notes)


def _weights(flatbuffer: bytes, op_name: str) -> np.ndarray:
    """Return the weights of the first operator ``op_name``."""
    g = parse(flatbuffer).main
    op = next(op for op in g.ops if op.name == op_name)
    data = g.tensors[op.inputs[1]].data
    assert data is not None
    return data


def test_pruned_weights_keep_their_zeros(results: FrameworkResults) -> None:
    result = results.imported("pruned.h5")
    dense = _weights(result.flatbuffer, "FULLY_CONNECTED")
    assert np.mean(dense == 0) >= 0.49
    assert any("pruning" in note for note in result.notes)


def test_clustered_weights_keep_their_few_values(results: FrameworkResults) -> None:
    result = results.imported("clustered.h5")
    assert len(np.unique(_weights(result.flatbuffer, "FULLY_CONNECTED"))) <= 4
    assert any("clustering" in note for note in result.notes)


def test_open_dimensions_ask_for_an_input_shape(results: FrameworkResults) -> None:
    results.refused("open.keras?", UsageError, "Dimension 1", "[?, ?, ?, 3]", "--input-shape 1,?,?,3")
    results.refused("open.keras!", UsageError, "[1, 8, 8, 1]", "does not fit input")
    results.refused("two.keras?", UsageError, "no input 'middle'", "right, left")


def test_several_signatures_ask_for_a_choice(results: FrameworkResults) -> None:
    results.refused("several", UsageError, "double, triple", "--signature double")
    results.refused("several:half", UsageError, "no signature 'half'")
    assert results.largest_difference("several:triple", "several") < _ROUNDING


@pytest.mark.parametrize("name", ["mixed.keras", "mixed.h5"])
def test_mixed_precision_computes_in_float32(results: FrameworkResults, name: str) -> None:
    result = results.imported(name)
    assert {t.dtype for t in parse(result.flatbuffer).main.tensors} <= {"float32", "int32"}
    assert any("mixed precision" in note for note in result.notes)


def test_outputs_that_do_not_depend_on_the_inputs_give_a_note(results: FrameworkResults) -> None:
    notes = {
        n: [x for x in results.imported(n).notes if "every input" in x] for n in ("dead.keras", "keras3.h5")
    }
    assert len(notes["dead.keras"]) == 1 and not notes["keras3.h5"]


def test_unusable_models_are_errors_with_a_reason(results: FrameworkResults) -> None:
    results.refused("only.weights.h5", ModelError, "weights but no model")
    results.refused("cut.h5", ModelError, "Cannot read", "cut.h5", "truncated")
    results.refused("cut", ModelError, "Cannot read", "saved_model.pb")
    results.refused("qat.keras", ModelError, "trained with quantization", ".h5")
    results.refused("inverse", ModelError, "tf.MatrixInverse")


def test_python_code_in_a_file_is_not_run(results: FrameworkResults) -> None:
    for name in ("lambda.keras", "lambda.h5"):
        results.refused(name, ModelError, "Lambda layer", "SavedModel")
    results.refused("own.h5", ModelError, "the class 'CustomLayer'", "SavedModel")
    results.refused("own.keras", ModelError, "class", "SavedModel")


def test_a_class_name_is_compared_after_json_is_decoded(results: FrameworkResults) -> None:
    results.refused("escaped.h5", ModelError, "Lambda layer", "SavedModel")
    assert not (results.folder / "code-ran").exists()


def test_a_file_in_two_formats_is_read_in_the_one_that_was_checked(results: FrameworkResults) -> None:
    assert results.imported("both.h5").agreement is not None
    assert not (results.folder / "code-ran").exists()


def test_functions_and_layers_that_read_files_are_refused(results: FrameworkResults) -> None:
    results.refused("call.h5", ModelError, "'tf.io.read_file'")
    results.refused("tfsm.keras", ModelError, "TFSMLayer")
    results.refused("elsewhere.h5", ModelError, "'secret'", "another file")
    results.refused("raw.h5", ModelError, "'w'", "another file")


def test_sizes_are_checked_before_data_are_expanded(results: FrameworkResults) -> None:
    results.refused("bomb.h5", ModelError, "bytes of memory", "limit")
    results.refused("long.keras", ModelError, "config.json", "limit is 33,554,432")
    results.refused("zeros.keras", ModelError, "model.weights.h5", "the limit is 67,108,864")
    for name in ("fill", "part"):
        results.refused(f"{name}.h5", ModelError, "its arrays would take 1,000,", "the limit is 67,108,864")
    results.refused("texts.h5", ModelError, "its arrays")
    results.refused("names.h5", ModelError, "its attribute 'names'")


def test_layers_that_are_larger_than_their_weights_are_refused_before_the_memory_is_full(
    results: FrameworkResults,
) -> None:
    results.refused("units.h5", ModelError, "it takes more memory than the size of its file explains")


def test_operators_that_use_files_are_refused_before_the_model_is_loaded(results: FrameworkResults) -> None:
    results.refused("reads", ModelError, "ReadFile", "not run")
    results.refused("writes", ModelError, "not run")
    assert not list(results.folder.glob("written*"))


def test_outlines_agree_with_the_imported_models(results: FrameworkResults) -> None:
    assert results.check_outlines() >= 5


def test_an_operator_without_a_counterpart_names_the_layer(results: FrameworkResults) -> None:
    results.refused("bins.keras", ModelError, "no operator for tf.DenseBincount (layer '", "bins")
