"""Every output of a model is scored and compared with the float model, with and without labels of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.dataset.dataset import load_dataset
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.sensitivity.sensitivity import sensitivity
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UsageError
from arenite.host.cli.model.convert import convert as convert_command
from arenite.host.conversion.convert import convert
from arenite.host.conversion.request import ConversionRequest
from arenite.host.report.conversion_page import conversion_page
from tests.converters.small_models import Net
from tests.docs.schemas import problems

SIZE, CLASSES = 6, 4


def three_outputs() -> bytes:
    """Return a float model with the outputs 'mask' (1, 6, 6, 4), a softmax at each position, 'box' (1, 3), plain
    values, and 'cube' (1, 3), the cubes of the box."""
    rng = np.random.default_rng(3)
    n = Net(0)
    x = n.input((1, SIZE, SIZE, 3), "float32")

    def constant(shape: tuple[int, ...], scale: float) -> int:
        return n.tensor(shape, "float32", data=(scale * rng.normal(size=shape)).astype(np.float32))

    logits = n.op(
        "CONV_2D", [x, constant((CLASSES, 1, 1, 3), 3), constant((CLASSES,), 0.1)], (1, SIZE, SIZE, CLASSES),
        "float32", options="Conv2DOptions", stride_h=1, stride_w=1,
    )  # fmt: skip
    mask = n.op("SOFTMAX", [logits], (1, SIZE, SIZE, CLASSES), "float32", options="SoftmaxOptions", beta=1.0)
    box = n.op(
        "FULLY_CONNECTED", [x, constant((3, SIZE * SIZE * 3), 0.2), constant((3,), 0.1)], (1, 3),
        "float32", options="FullyConnectedOptions",
    )  # fmt: skip
    square = n.op("MUL", [box, box], (1, 3), "float32", options="MulOptions")
    cube = n.op("MUL", [square, box], (1, 3), "float32", options="MulOptions")
    return to_flatbuffer(n.model([mask, box, cube]))


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> ConversionRequest:
    """Return a request in which one calibration sample is so large that the scale of 'cube' is wasted."""
    folder = tmp_path_factory.mktemp("outputs")
    model = folder / "three.tflite"
    model.write_bytes(three_outputs())
    rng = np.random.default_rng(4)
    x = rng.normal(size=(120, SIZE, SIZE, 3)).astype(np.float32)
    wide = x.copy()
    wide[0] *= 9
    np.savez(folder / "calibration.npz", x=x)
    np.savez(folder / "wide.npz", x=wide)
    np.savez(folder / "test.npz", x=x[20:])
    return ConversionRequest(str(model), calibration=folder / "calibration.npz", test=folder / "test.npz")


def test_each_output_has_a_metric_that_fits(request_: ConversionRequest) -> None:
    scores = convert(request_).scores
    assert scores is not None and request_.test is not None
    assert [o.source.metric for o in scores.outputs] == ["agreement", "r2", "r2"]
    assert [o.shape for o in scores.outputs] == [(1, SIZE, SIZE, CLASSES), (1, 3), (1, 3)]
    assert all(o.source.value == 1 for o in scores.outputs)
    mask, box, cube = scores.outputs
    assert 0.95 < mask.image.value < 1 and box.image.value > 0.99 and cube.image.value > 0.9
    assert box.sqnr_db > 25 and 0 < box.max_abs < 0.5


def test_labels_of_every_output_are_used(request_: ConversionRequest, tmp_path: Path) -> None:
    source = Path(request_.source).read_bytes()
    graph = parse(source).main
    assert request_.test is not None
    samples = load_dataset(request_.test, [graph.tensors[graph.inputs[0]]])
    masks = np.concatenate([m.argmax(axis=-1) for m in run_dataset(source, samples)])
    boxes = np.concatenate(run_dataset(source, samples, output=1))
    with np.load(request_.test) as data:
        x = data["x"]
    np.savez(tmp_path / "labels.npz", x=x, y0=masks, y1=boxes + 1)
    scores = convert(replace(request_, test=tmp_path / "labels.npz")).scores
    assert scores is not None
    assert [o.source.metric for o in scores.outputs] == ["accuracy", "mse", "r2"]
    assert scores.source.value == 1 and scores.outputs[1].source.value == pytest.approx(1, abs=1e-3)
    np.savez(tmp_path / "first.npz", x=x, y=masks)
    conversion = convert(replace(request_, test=tmp_path / "first.npz"))
    assert [note for note in conversion.notes if "y1, y2" in note]
    np.savez(tmp_path / "more.npz", x=x, y3=boxes)
    with pytest.raises(UsageError, match="labels y3"):
        convert(replace(request_, test=tmp_path / "more.npz"))
    np.savez(tmp_path / "short.npz", x=x, y1=boxes[1:])
    with pytest.raises(UsageError, match="'y1' has 99 samples"):
        convert(replace(request_, test=tmp_path / "short.npz"))


def run(request: ConversionRequest, output: Path, *options: str) -> Result:
    """Run ``arenite convert`` with the samples of wide.npz, with which the scale of 'cube' is wasted."""
    assert request.calibration is not None
    arguments = [request.source, "--calibration", str(request.calibration.with_name("wide.npz"))]
    arguments += ["--test", str(request.test), "-o", str(output), *options]
    result = CliRunner().invoke(convert_command, arguments, standalone_mode=False)
    assert result.exception is None
    return result


@pytest.mark.slow
def test_the_loss_of_an_output_after_the_first_is_reported_and_counts_for_max_drop(
    request_: ConversionRequest, tmp_path: Path
) -> None:
    result = run(request_, tmp_path / "image.tflite", "--max-drop", "10", "--json")
    assert result.return_value == 1
    answer = json.loads(result.stdout)
    assert problems(answer) == []
    score = answer["score"]
    assert score["drop"] < 0.1, "the first output is good"
    assert [o["index"] for o in score["outputs"]] == [0, 1, 2] and score["outputs"][2]["drop"] > 0.1
    assert score["max_drop"] == {"limit": 0.1, "met": False}
    assert score["loss"]["output"] == 2 and score["loss"]["layer"]["op"] == "MUL"
    assert score["loss"]["sentence"] in answer["notes"] and "of output 2" in score["loss"]["sentence"]
    assert run(request_, tmp_path / "image.tflite", "--max-drop", "10000", "--json").return_value == 0
    printed = run(request_, tmp_path / "image.tflite", "--max-drop", "10").stdout
    assert "Outputs of source and image" in printed and "--max-drop allows 10 points" in printed


def test_the_page_lists_the_outputs(request_: ConversionRequest) -> None:
    page = conversion_page(convert(request_), [])
    assert "largest difference" in page and page.count("r2") >= 2


def test_the_sensitivity_of_a_layer_depends_on_every_output(request_: ConversionRequest) -> None:
    """The sensitivity is not 0 for layers on which only the second and third output depend."""
    source = Path(request_.source).read_bytes()
    graph = parse(source).main
    assert request_.calibration is not None
    data = load_dataset(request_.calibration, [graph.tensors[graph.inputs[0]]])
    result = sensitivity(source, load_recipe("int8"), observe(source, data), data, kinds=("int8",))
    box_layers = [s for s in result.layers if s.op in ("FULLY_CONNECTED", "MUL")]
    assert len(box_layers) == 3 and all(s.sqnr_db < 80 and s.drop > 0 for s in box_layers)


def test_field_data_that_clip_the_third_output_are_reported(
    request_: ConversionRequest, tmp_path: Path
) -> None:
    """Inputs that are twice as large hardly change the classes of the mask. The cubes are eight times as large and
    clip."""
    assert request_.calibration is not None
    with np.load(request_.calibration) as data:
        np.savez(tmp_path / "field.npz", x=2 * data["x"])
    conversion = convert(replace(request_, field_data=tmp_path / "field.npz"))
    assert conversion.calibrated is not None and conversion.calibrated.field is not None
    report = conversion.calibrated.field
    cube = next(c for c in report.clipped if c.field.made_by == "MUL" and c.loss is not None)
    assert cube.measured is not None and cube.measured.output == 2 and cube.measured.value > 0.1
    assert any("points of r2 of output 2" in warning for warning in report.warnings)


def test_float_activations_are_compared_too(request_: ConversionRequest) -> None:
    conversion = convert(replace(request_, recipe="dynamic"))
    assert conversion.calibrated is not None and len(conversion.calibrated.errors) == 5
    assert conversion.scores is not None and len(conversion.scores.outputs) == 3
