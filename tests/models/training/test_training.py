"""Tests of real trainings. They need the environments "tensorflow" and "torch", and are skipped without them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from arenite.converters.importers import environments
from arenite.converters.importers.sources import import_source
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError
from arenite.models.architectures import network
from arenite.models.architectures.recognize import recognize_architecture
from arenite.models.datasets.pictures import resize_images
from arenite.models.datasets.training_data import TrainingData, TrainingSettings
from arenite.models.training.exported_data import calibration_indices, save_data
from arenite.models.training.outputs import check_outputs, write_output
from arenite.models.training.training import TrainingOptions, override_options, train
from arenite.models.training.training_records import training_records


def require_environment(name: str) -> None:
    """Skip the test if the environment does not exist."""
    spec = environments.specs()[name]
    if not (environments.directory(spec) / "complete.json").is_file():
        pytest.skip(f"needs the environment '{name}' ({spec.disk_mb:,} MB), which `arenite train` creates")


def bars(samples: int = 240) -> TrainingData:
    """Return noisy pictures with a bright bar in one quarter, which is the label. A network learns them in seconds."""
    rng = np.random.default_rng(0)
    y = np.arange(samples) % 4
    pixels = rng.integers(0, 120, (samples, 12, 12, 1), np.uint8)
    for picture, quarter in zip(pixels, y, strict=True):
        picture[3 * quarter : 3 * quarter + 3] = 255
    x, spec = resize_images(pixels, None, largest=255.0)
    return TrainingData(
        *("bars", "bars", "classify", x[40:], y[40:], x[:40], y[:40], tuple("abcd"), "none"),
        settings=TrainingSettings(epochs=6, batch=16, rate=5e-3),
        preprocessing=spec,
    )


def _outputs(flatbuffer: bytes, x: np.ndarray) -> np.ndarray:
    """Return LiteRT's output for each sample of ``x``, [samples, ...]."""
    interpreter = Interpreter(model_content=flatbuffer)
    interpreter.allocate_tensors()
    model_input, model_output = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    outputs = []
    for sample in x:
        interpreter.set_tensor(model_input["index"], sample[None])
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(model_output["index"])[0])
    return np.stack(outputs)


@pytest.mark.slow
def test_a_network_is_trained_and_written_in_every_format(tmp_path: Path) -> None:
    """One test checks everything about this training, because a training takes long."""
    require_environment("tensorflow")
    require_environment("torch")
    outputs = [tmp_path / name for name in ("m.keras", "m.h5", "m.tflite", "m.pt2", "saved")]
    steps: list[tuple[str, int, int]] = []
    data = bars()
    training = train(
        TrainingOptions("dscnn", "bars", 0.25), outputs, data=data, progress=lambda *step: steps.append(step)
    )
    assert steps[-1][1:] == (6 * (200 // 16), 6 * (200 // 16))
    assert all(path.exists() for path in outputs)

    flatbuffer = outputs[2].read_bytes()
    expected = _outputs(flatbuffer, data.x_test)
    assert training.score.value == pytest.approx(np.mean(expected.argmax(1) == data.y_test))
    assert training.score.value >= 0.9
    size = recognize_architecture(parse(flatbuffer))
    assert size is not None
    assert (size.architecture, size.width, size.shape, size.classes) == ("dscnn", 0.25, (12, 12, 1), 4)

    imported = import_source(str(outputs[3]), inputs=[[x[None]] for x in data.x_test[:4]])
    assert np.allclose(_outputs(imported.flatbuffer, data.x_test), expected, atol=1e-4)

    result = json.loads(json.dumps(training.to_json()))
    assert result["schema"] == "arenite.train/1"
    assert (result["score"]["kind"], result["score"]["samples"]) == ("measured", 40)
    assert set(result["score"]["per_class"]) == set("abcd")
    assert result["command"] == "arenite train dscnn --data bars --width 0.25"
    assert result["data"]["preprocessing"]["steps"] == [{"do": "normalise", "divide": 255.0}]


def test_saved_data_have_the_format_of_the_model(tmp_path: Path) -> None:
    data = bars()
    net = network("dscnn", data.shape, 4, 0.25)
    paths = save_data(net, data, tmp_path, 20)
    assert [p.name for p in paths] == [
        *("calibration.npz", "test.npz", "postprocessing.json", "preprocessing.json", "labels.txt"),
    ]
    with np.load(paths[0]) as file:
        assert (file["x"].shape, file["x"].dtype) == ((20, 12, 12, 1), np.float32)
        assert np.bincount(file["y"]).tolist() == [5, 5, 5, 5]
    with np.load(paths[1]) as file:
        assert np.array_equal(file["x"], data.x_test)
    before = [p.read_bytes() for p in paths]
    assert [p.read_bytes() for p in save_data(net, data, tmp_path, 20)] == before


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    require_environment("tensorflow")
    files = [tmp_path / f"{k}.keras" for k in range(2)]
    for file in files:
        train(TrainingOptions("dscnn", "bars", 0.25, seed=1, epochs=1), [file], data=bars(120))
    weights = []
    for file in files:
        with zipfile.ZipFile(file) as archive:
            weights.append(archive.read("model.weights.h5"))
    assert weights[0] == weights[1]


def test_calibration_samples_are_balanced_over_unbalanced_classes() -> None:
    data = bars()
    indices = np.concatenate([np.flatnonzero(data.y_train == 0)[:3], np.flatnonzero(data.y_train == 1)])
    unbalanced = TrainingData(
        *(
            "u",
            "u",
            "classify",
            data.x_train[indices],
            data.y_train[indices],
            data.x_test,
            data.y_test,
            ("a", "b"),
        ),
        licence="",
        settings=TrainingSettings(1),
    )
    selected = calibration_indices(unbalanced, 10)
    assert np.bincount(unbalanced.y_train[selected]).tolist() == [3, 7]
    assert len(set(selected.tolist())) == 10


def test_options_give_the_command_of_a_training() -> None:
    options = TrainingOptions("dscnn", "mnist", 0.5, resolution=20, epochs=3)
    assert options.command == "arenite train dscnn --data mnist --width 0.5 --resolution 20 --epochs 3"
    assert override_options(options, width=0.25, seed=None).command.endswith(
        "--width 0.25 --resolution 20 --epochs 3"
    )
    assert override_options(options, data="digits").command == "arenite train dscnn --data digits --width 0.5"


def test_recorded_trainings_have_a_score_and_a_command() -> None:
    records = training_records()
    assert {r.options.data for r in records.values()} >= {"mnist", "digits", "motions", "keywords", "scenes"}
    for r in records.values():
        assert 0.5 < r.value <= 1
        assert r.seconds > 0
        assert r.options.command.startswith(f"arenite train {r.options.architecture} ")
    assert (
        max(r.value for r in records.values() if r.options.data == "mnist" and r.samples == 10_000) >= 0.985
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (TrainingOptions("detector", "bars"), "learns to detect"),
        (TrainingOptions("dscnn", "bars", epochs=0), "--epochs 0"),
        (TrainingOptions("dscnn", "bars", rate=7.0), "--rate 7"),
        (TrainingOptions("dscnn", "bars", 77.0), "width of 77"),
        (TrainingOptions("dsnn", "bars"), "no architecture 'dsnn'"),
    ],
)
def test_invalid_options_raise_an_error_before_the_training(
    options: TrainingOptions, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=problem):
        train(options, [tmp_path / "m.keras"], data=bars(40))
    assert list(tmp_path.iterdir()) == []


def test_outputs_that_cannot_be_written_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "m.keras").mkdir()
    for name, problem in (
        ("m.onnx", "'.onnx'"),
        ("full", "other files in it"),
        ("file", "is already a file"),
        ("m.keras", "is already a folder"),
    ):
        with pytest.raises(UsageError, match=problem):
            check_outputs([tmp_path / name])


def test_a_folder_is_replaced_in_one_step(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "deep" / "target"
    for text in ("one", "two"):
        source.mkdir(exist_ok=True)
        (source / "saved_model.pb").write_text(text)
        write_output(source, target)
        assert (target / "saved_model.pb").read_text() == text
    assert [p.name for p in target.parent.iterdir()] == ["target"]
