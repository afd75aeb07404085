"""What ``convert`` finds before it starts a framework, and what it can do without calibration samples."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from arenite.converters.importers.quantization_marks import may_be_quantized
from arenite.converters.importers.source_kinds import source_kind
from arenite.converters.processing.media_files import preprocess_file
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError, UsageError
from arenite.host.build.attachments import recorded_preprocessing
from arenite.host.conversion.convert import convert, fits
from arenite.host.conversion.request import ConversionRequest
from arenite.profiles.boards import load_board
from tests.converters.quantize.float_models import FloatNet
from tests.host.small_graphs import classifier, save

SIDE = 8


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the classes cat and dog, 12 pictures each, larger than the model's input."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (folder / name).mkdir()
        for k in range(12):
            Image.fromarray(rng.integers(0, 256, (20, 24, 3), np.uint8)).save(folder / name / f"{k}.png")
    return folder


@pytest.fixture(scope="module")
def keras_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive that looks like a Keras file. No framework can read it."""
    path = tmp_path_factory.mktemp("keras") / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Sequential"}))
        archive.writestr("metadata.json", "{}")
    return path


def picture_model(folder: Path, channels: int = 3) -> Path:
    """Write a float model of pictures with two classes, and return its path."""
    n = FloatNet(3)
    x = n.input((1, SIDE, SIDE, channels), "float32")
    path = folder / "pictures.tflite"
    path.write_bytes(to_flatbuffer(n.model([n.dense(n.flat(n.conv(x, 4)), 2)])))
    return path


def refusal(request: ConversionRequest) -> str:
    """Return the error of a conversion that must fail before its import."""
    stages: list[str] = []
    begin = time.monotonic()
    with pytest.raises(UsageError) as error:
        convert(request, lambda stage, *_: stages.append(stage))
    assert stages == [] and time.monotonic() - begin < 10
    return str(error.value)


def test_pictures_are_refused_before_the_import_and_the_error_names_the_option(
    keras_file: Path, pictures: Path
) -> None:
    text = refusal(ConversionRequest(str(keras_file), calibration=pictures))
    assert "preprocessing is not known" in text
    assert "--pixels" in text and "imagenet" in text and "--preprocessing" in text


def test_folders_and_arrays_are_checked_before_the_import(
    keras_file: Path, pictures: Path, tmp_path: Path
) -> None:
    source = str(keras_file)
    assert "has no samples" in refusal(ConversionRequest(source, calibration=tmp_path))
    np.savez(tmp_path / "names.npz", images=np.zeros((20, 4)))
    assert "has no array 'x'; it has 'images'" in refusal(
        ConversionRequest(source, calibration=tmp_path / "names.npz")
    )
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 and nothing else")
    assert "Cannot read" in refusal(ConversionRequest(source, calibration=tmp_path / "broken.npz"))
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "a.png").write_bytes((pictures / "cat" / "0.png").read_bytes())
    assert "1 sample;" in refusal(ConversionRequest(source, calibration=tmp_path / "few", pixels="0..1"))
    stray = tmp_path / "stray"
    (stray / "cat").mkdir(parents=True)
    for target in (stray / "a.png", stray / "cat" / "b.png"):
        target.write_bytes((pictures / "cat" / "0.png").read_bytes())
    assert "not in a sub-folder" in refusal(ConversionRequest(source, calibration=stray, pixels="0..1"))


def test_missing_samples_are_reported_before_the_import_with_what_works_without(keras_file: Path) -> None:
    text = refusal(ConversionRequest(str(keras_file)))
    assert "needs calibration samples" in text and "--calibration random" in text
    assert "dynamic, float16, weight_only" in text


def test_float_activations_and_a_board_are_refused_before_the_import(keras_file: Path) -> None:
    board = load_board("qemu_microbit")
    text = refusal(ConversionRequest(str(keras_file), recipe="float16", boards=(board,)))
    assert "float activations" in text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.onnx", b"\x08\x08 DequantizeLinear ", True),
        ("b.onnx", b"\x08\x08 QLinearConv ", True),
        ("c.onnx", b"\x08\x08 Conv Relu ", False),
    ],
)
def test_a_quantized_source_needs_no_samples(
    tmp_path: Path, name: str, content: bytes, expected: bool
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert may_be_quantized(str(path), source_kind(str(path))) == expected


def test_a_keras_model_trained_with_quantization_is_not_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "qat.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "QuantizeWrapperV2"}))
        archive.writestr("metadata.json", "{}")
    assert may_be_quantized(str(path), "keras")
    assert may_be_quantized("module:function", "torch-factory")


@pytest.mark.parametrize(
    ("pixels", "low", "high"),
    [
        ("0..255", (0, 0, 0), (255, 255, 255)),
        ("0..1", (0, 0, 0), (1, 1, 1)),
        ("-1..1", (-1, -1, -1), (1, 1, 1)),
        (
            "imagenet",
            (-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225),
            (0.515 / 0.229, 0.544 / 0.224, 0.594 / 0.225),
        ),
    ],
)
def test_pixels_calibrate_with_pictures_and_are_recorded(
    tmp_path: Path, pictures: Path, pixels: str, low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    request = ConversionRequest(str(picture_model(tmp_path)), calibration=pictures, pixels=pixels)
    conversion = convert(request)
    assert conversion.prepared is not None and conversion.scores is not None
    assert conversion.scores.source.metric == "accuracy"  # the folders are the classes
    spec = recorded_preprocessing(conversion.prepared.extra)
    assert spec is not None
    for value, expected in ((0, low), (255, high)):
        path = tmp_path / f"{value}.png"
        Image.fromarray(np.full((5, 9, 3), value, np.uint8)).save(path)
        values = preprocess_file(spec.real, path)
        assert values.shape == (1, SIDE, SIDE, 3)
        assert np.allclose(values, np.array(expected, np.float32), atol=1e-6)
    assert any("Pillow's bilinear filter" in note for note in conversion.notes)


def test_pixels_can_be_given_for_grey_models_except_imagenet(tmp_path: Path, pictures: Path) -> None:
    source = str(picture_model(tmp_path, 1))
    conversion = convert(ConversionRequest(source, calibration=pictures, pixels="0..1"))
    assert conversion.prepared is not None
    with pytest.raises(UsageError, match="is grey"):
        convert(ConversionRequest(source, calibration=pictures, pixels="imagenet"))


def test_pixels_are_for_pictures_only(tmp_path: Path, pictures: Path) -> None:
    n = FloatNet(3)
    (tmp_path / "vector.tflite").write_bytes(to_flatbuffer(n.model([n.dense(n.input((1, 6), "float32"), 2)])))
    with pytest.raises(UsageError, match="has the shape 1x6"):
        convert(ConversionRequest(str(tmp_path / "vector.tflite"), calibration=pictures, pixels="0..1"))
    text = refusal(ConversionRequest(str(picture_model(tmp_path)), calibration=pictures, pixels="0..2"))
    assert "'0..2'" in text and "-1..1" in text


def test_random_calibration_shows_the_sizes_of_a_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with an embedding, whose random tokens must be inside the table of 20 rows."""
    n = FloatNet(3)
    tokens = n.input((1, 5), "int32")
    embedded = n.layer("GATHER", [n.random(20, 4), tokens], (1, 5, 4), "GatherOptions", axis=0)
    (tmp_path / "m.tflite").write_bytes(to_flatbuffer(n.model([n.dense(n.flat(embedded), 6)])))
    np.savez(tmp_path / "real.npz", x=np.random.default_rng(1).integers(0, 20, (200, 5)).astype(np.int32))
    monkeypatch.chdir(tmp_path)
    board = load_board("qemu_microbit")
    figures = []
    for calibration in (Path("random"), tmp_path / "real.npz"):
        conversion = convert(ConversionRequest("m.tflite", calibration=calibration, boards=(board,)))
        assert conversion.prepared is not None
        (verdict,) = fits(conversion)
        figures.append((conversion.prepared.plan.arena_bytes, verdict.needs.ram, verdict.needs.flash))
        random = calibration == Path("random")
        assert (conversion.scores is None) == random
        assert any("worth nothing" in note for note in conversion.notes) == random
    assert figures[0][:2] == figures[1][:2] and abs(figures[0][2] - figures[1][2]) <= 64
    assert "compare outputs" in refusal(
        ConversionRequest("m.tflite", calibration=Path("random"), sensitivity=True)
    )


def test_a_quantized_model_is_not_scored_on_random_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = save(classifier(), tmp_path / "int8.tflite")
    monkeypatch.chdir(tmp_path)
    assert convert(ConversionRequest(str(source), calibration=Path("random"))).scores is None


def test_the_error_for_an_operator_without_an_integer_kernel_says_to_replace_the_layer(
    tmp_path: Path,
) -> None:
    n = FloatNet(3)
    x = n.input((1, 6, 5), "float32")
    path = tmp_path / "sums.tflite"
    path.write_bytes(n.bytes(n.layer("CUMSUM", [x, n.ints([1])], (1, 6, 5), "CumsumOptions")))
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).random((40, 6, 5), np.float32))
    with pytest.raises(UnsupportedModelError, match=r"CUMSUM.*has type float32") as caught:
        convert(ConversionRequest(str(path), calibration=tmp_path / "x.npz"))
    assert "Replace the layer" in caught.value.hint and "arenite convert" not in caught.value.hint


def test_layers_are_checked_before_the_import(tmp_path: Path) -> None:
    n = FloatNet(3)
    x = n.input((1, 600, 1, 3), "float32")
    y = n.conv(x, 4, kernel=1, stride=300)
    name = n.tensors[y].name
    (tmp_path / "m.tflite").write_bytes(to_flatbuffer(n.model([n.dense(n.flat(y), 2)])))
    samples = np.random.default_rng(0).random((40, 600, 1, 3), np.float32)
    np.savez(tmp_path / "data.npz", x=samples, y=np.arange(40) % 2)
    stages: list[str] = []
    request = ConversionRequest(str(tmp_path / "m.tflite"), calibration=tmp_path / "data.npz")
    with pytest.raises(UnsupportedModelError, match="strides 300 x 300") as error:
        convert(request, lambda stage, *_: stages.append(stage))
    assert f"'{name}'" in str(error.value)
    assert stages == []


def test_limits_that_need_the_imported_graph_are_checked_before_the_samples_are_scored(
    tmp_path: Path,
) -> None:
    n = FloatNet(3)
    x = n.input((1, 8, 8, 3), "float32")
    y = n.layer(
        "LOCAL_RESPONSE_NORMALIZATION", [x], (1, 8, 8, 3), "LocalResponseNormalizationOptions",
        radius=1, bias=1.0, alpha=1.0, beta=0.5,
    )  # fmt: skip
    name = n.tensors[y].name
    (tmp_path / "m.tflite").write_bytes(to_flatbuffer(n.model([n.dense(n.flat(y), 2)])))
    samples = np.random.default_rng(0).random((40, 8, 8, 3), np.float32)
    np.savez(tmp_path / "data.npz", x=samples, y=np.arange(40) % 2)
    stages: list[str] = []
    request = ConversionRequest(str(tmp_path / "m.tflite"), calibration=tmp_path / "data.npz")
    with pytest.raises(UnsupportedModelError, match="LOCAL_RESPONSE_NORMALIZATION") as error:
        convert(request, lambda stage, *_: stages.append(stage))
    assert f"'{name}'" in str(error.value)
    assert "score" not in stages and "calibrate" not in stages
