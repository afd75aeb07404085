"""What ``convert`` says about a source of each framework before the framework starts. No framework is installed: an
import of these files would fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.processing.specification.image_steps import ImageSource, Resize
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import AreniteError, UnsupportedModelError, UsageError
from arenite.host.build.attachments import Attachments
from arenite.host.conversion.convert import convert
from arenite.host.conversion.preflight import check_before_import
from arenite.host.conversion.request import ConversionRequest
from arenite.profiles.boards import load_board
from tests.converters.importers.outline import source_files as files
from tests.converters.quantize.float_models import FloatNet


def _tflite(folder: Path) -> Path:
    n = FloatNet(3)
    x = n.input((1, 16, 16, 3), "float32")
    path = folder / "m.tflite"
    path.write_bytes(to_flatbuffer(n.model([n.dense(n.flat(n.conv(x, 4)), 4)])))
    return path


def _saved_model(folder: Path) -> Path:
    return files.saved_model(folder / "saved", [files.tf_node("Relu", "y")])


#: A source of every kind, with an input of 16 x 16 pixels and four classes.
SOURCES: dict[str, Callable[[Path], Path]] = {
    "keras": lambda folder: files.picture_keras(folder / "m.keras"),
    "onnx": lambda folder: files.picture_onnx(folder / "m.onnx"),
    "torch": lambda folder: files.picture_torch(folder / "m.pt2"),
    "saved_model": _saved_model,
    "tflite": _tflite,
}


@pytest.fixture(params=sorted(SOURCES))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the path of a source of each kind."""
    return str(SOURCES[request.param](tmp_path))


def samples(folder: Path, shape: tuple[int, ...] = (16, 16, 3), classes: int = 4, name: str = "x") -> Path:
    """Write 20 labelled samples of noise and return the path of the file."""
    path = folder / "data.npz"
    arrays: dict[str, Any] = {
        name: np.random.default_rng(0).random((20, *shape), np.float32),
        "y": np.arange(20) % classes,
    }
    np.savez(path, **arrays)
    return path


def refusal(request: ConversionRequest) -> str:
    """Return the error of a conversion that must fail before its import."""
    stages: list[str] = []
    begin = time.process_time()
    with pytest.raises(AreniteError) as error:
        convert(request, lambda stage, *_: stages.append(stage))
    assert stages == [] and time.process_time() - begin < 2
    assert error.value.hint and error.value.exit_code == 2
    return str(error.value)


def passes(request: ConversionRequest) -> str:
    """Check that the request is not refused before the import, and return the sentence that is printed about it."""
    return check_before_import(request, load_recipe(request.recipe or "int8"))


def test_samples_of_the_right_shape_are_accepted(source: str, tmp_path: Path) -> None:
    passes(ConversionRequest(source, calibration=samples(tmp_path)))
    passes(ConversionRequest(source, calibration=samples(tmp_path, (1, 16, 16, 3))))  # with a batch of 1


def test_a_model_without_inputs_is_refused(tmp_path: Path) -> None:
    path = files.onnx_file(
        tmp_path / "m.onnx",
        [files.onnx_node("Relu", ["w"], ["scores"])],
        [],
        [files.onnx_value("scores", (1, 4))],
        [files.onnx_constant("w", (1, 4))],
    )
    request = ConversionRequest(str(path), calibration=Path("random"), pixels="0..1")
    assert "has no inputs" in refusal(request)


def test_samples_of_another_shape_are_refused(source: str, tmp_path: Path) -> None:
    text = refusal(ConversionRequest(source, calibration=samples(tmp_path, (20, 20, 3))))
    assert "'x' has shape (20, 20, 20, 3)" in text and "takes samples of (16, 16, 3)" in text
    text = refusal(ConversionRequest(source, calibration=samples(tmp_path, (3, 16, 16))))
    assert "x.transpose(0, 2, 3, 1)" in text
    passes(ConversionRequest(source, calibration=samples(tmp_path, (16, 16, 3))))  # what the hint gives


def test_test_samples_are_checked_too(source: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    request = ConversionRequest(
        source, calibration=samples(tmp_path), test=samples(tmp_path / "other", (8, 8, 3))
    )
    assert str(Path("other") / "data.npz") in refusal(request)


def test_arrays_for_another_number_of_inputs_are_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / "two.npz"
    np.savez(path, x0=np.zeros((20, 16, 16, 3), np.float32), x1=np.zeros((20, 3), np.float32))
    assert "has the array 'x1'; the model has 1 input: '" in refusal(
        ConversionRequest(source, calibration=path)
    )


def test_labels_beyond_the_classes_of_the_model_are_refused(source: str, tmp_path: Path) -> None:
    text = refusal(ConversionRequest(source, calibration=samples(tmp_path, classes=9)))
    assert "labels from 0 to 8; the model's output has the classes 0 to 3" in text
    passes(ConversionRequest(source, calibration=samples(tmp_path, classes=9), metric="r2"))


def test_a_list_of_labels_of_another_length_is_refused(source: str, tmp_path: Path) -> None:
    labels = Attachments(labels=("a", "b", "c"))
    text = refusal(ConversionRequest(source, calibration=samples(tmp_path), attachments=labels))
    assert "There are 3 labels; the model's output has 4 values" in text
    labels = Attachments(labels=("a", "b", "c", "d"))
    passes(ConversionRequest(source, calibration=samples(tmp_path), attachments=labels))


def test_more_class_folders_than_classes_are_refused(source: str, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    for name in "abcde":
        (folder / name).mkdir(parents=True)
        for k in range(3):
            Image.fromarray(np.zeros((5, 5, 3), np.uint8)).save(folder / name / f"{k}.png")
    request = ConversionRequest(source, calibration=folder, pixels="0..1")
    assert "has 5 classes (a, b, c, d, e); the model's output has 4" in refusal(request)
    for path in (folder / "e").iterdir():
        path.unlink()
    (folder / "e").rmdir()
    passes(request)


def test_preprocessing_that_yields_another_size_is_refused(source: str) -> None:
    attachments = Attachments(Preprocessing(ImageSource("rgb"), (Resize(20, 20), Normalize())))
    text = refusal(ConversionRequest(source, calibration=Path("random"), attachments=attachments))
    assert "Preprocessing yields 20x20x3 values" in text


def test_an_input_shape_that_does_not_fit_is_refused(source: str, tmp_path: Path) -> None:
    options = ImportOptions(shape={"": (1, 9, 9, 9)})
    text = refusal(ConversionRequest(source, options, calibration=Path("random")))
    assert "[1, 9, 9, 9]" in text or "(1, 9, 9, 9)" in text or "1x9x9x9" in text


def test_a_signature_is_for_saved_models_only(source: str, tmp_path: Path) -> None:
    request = ConversionRequest(source, ImportOptions(signature="x"), calibration=Path("random"))
    assert "signature" in refusal(request)


def test_the_error_for_an_unknown_dimension_names_the_option_input_shape(tmp_path: Path) -> None:
    onnx = str(files.picture_onnx(tmp_path / "m.onnx", shape=(None, 3, None, 16)))
    text = refusal(ConversionRequest(onnx, calibration=Path("random")))
    assert "Dimension 2 of input 'image' [?, 3, ?, 16]" in text and "--input-shape 1,3,?,16" in text
    passes(ConversionRequest(onnx, ImportOptions(shape={"": (1, 3, 16, 16)}), calibration=samples(tmp_path)))
    unknown = files.saved_model(tmp_path / "saved", [files.tf_node("Relu", "y")], shape=None)
    assert "'image' has no shape" in refusal(ConversionRequest(str(unknown), calibration=Path("random")))


def test_an_onnx_model_without_a_known_layout_takes_nhwc_and_nchw_samples(tmp_path: Path) -> None:
    path = files.onnx_file(
        tmp_path / "m.onnx",
        [files.onnx_node("Relu", ["image"], ["y"])],
        [files.onnx_value("image", (1, 3, 16, 16))],
        [files.onnx_value("y", (1, 3, 16, 16))],
    )
    for shape in ((16, 16, 3), (3, 16, 16)):
        passes(ConversionRequest(str(path), calibration=samples(tmp_path, shape)))
    assert "takes samples of" in refusal(
        ConversionRequest(str(path), calibration=samples(tmp_path, (9, 9, 3)))
    )


def test_with_keep_layout_samples_have_the_layout_of_the_source(tmp_path: Path) -> None:
    source = str(files.picture_torch(tmp_path / "m.pt2"))
    keep = ImportOptions(keep_layout=True)
    passes(ConversionRequest(source, keep, calibration=samples(tmp_path, (3, 16, 16))))
    text = refusal(ConversionRequest(source, keep, calibration=samples(tmp_path)))
    assert "transpose(0, 3, 1, 2)" in text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda f: files.picture_keras(f / "m.keras", strides=(300, 1)), "'first_conv' (Conv2D) has strides 300 x 1"),
        (lambda f: files.picture_onnx(f / "m.onnx", strides=(300, 1)), "'/features/Conv' (Conv) has strides 300 x 1"),
        (lambda f: files.picture_torch(f / "m.pt2", stride=(300, 1)), "'features.0' (Conv2d, aten.conv2d, net.py line"),
        (lambda f: files.picture_onnx(f / "m.onnx", last="NonZero"), "'/features/NonZero' (NonZero)"),
        (lambda f: files.picture_torch(f / "m.pt2", operator="aten.fft_rfft.default"), "12) computes a spectrum"),
        (lambda f: files.saved_model(f / "m", [files.tf_node("Conv3D", "y", ["x"])]), "'y' (Conv3D) computes"),
    ],
)  # fmt: skip
def test_layers_are_refused_even_without_samples(
    tmp_path: Path, make: Callable[[Path], Path], words: str
) -> None:
    """So nobody collects samples for a model that cannot run."""
    assert words in refusal(ConversionRequest(str(make(tmp_path))))


def test_missing_samples_come_with_the_size_of_the_weights(tmp_path: Path) -> None:
    source = str(files.picture_keras(tmp_path / "m.keras"))
    text = refusal(ConversionRequest(source))
    assert (
        "needs calibration samples. The model has 260 weights, which take 260 bytes of flash as int8." in text
    )
    assert "which take 130 bytes of flash as int4" in refusal(ConversionRequest(source, recipe="w4"))


def test_weights_that_exceed_the_flash_of_a_board_are_reported_before_the_import(tmp_path: Path) -> None:
    large = files.keras_layer("Dense", "scores", (None, 1 << 19), units=2)
    source = str(files.keras_file(tmp_path / "m.keras", [large], (None, 1 << 19)))
    boards = (load_board("qemu_microbit"), load_board("nucleo_l4r5zi"))
    sentence = passes(ConversionRequest(source, calibration=Path("random"), boards=boards))
    assert "1,048,578 weights, which take 1,048,578 bytes" in sentence
    assert "too much for qemu_microbit (262,144 bytes)." in sentence


@pytest.mark.slow
def test_missing_samples_of_a_tflite_model_come_with_size_and_fit(tmp_path: Path) -> None:
    """The figures are those of a conversion with samples."""
    source = _tflite(tmp_path)
    board = load_board("qemu_microbit")
    text = refusal(ConversionRequest(str(source), boards=(board,)))
    data = tmp_path / "real.npz"
    np.savez(data, x=np.random.default_rng(0).random((40, 16, 16, 3), np.float32))
    conversion = convert(ConversionRequest(str(source), calibration=data, boards=(board,)))
    assert conversion.prepared is not None
    assert f"an arena of {conversion.prepared.plan.arena_bytes:,} bytes" in text
    assert "It fits qemu_microbit: " in text and "of 16,384 bytes of RAM" in text


def test_the_preview_of_a_tflite_model_refuses_operators_without_a_kernel(tmp_path: Path) -> None:
    n = FloatNet(3)
    x = n.input((1, 8, 8, 3), "float32")
    y = n.layer(
        "LOCAL_RESPONSE_NORMALIZATION", [x], (1, 8, 8, 3), "LocalResponseNormalizationOptions",
        radius=1, bias=1.0, alpha=1.0, beta=0.5,
    )  # fmt: skip
    (tmp_path / "m.tflite").write_bytes(to_flatbuffer(n.model([n.dense(n.flat(y), 2)])))
    with pytest.raises(UnsupportedModelError, match="LOCAL_RESPONSE_NORMALIZATION"):
        convert(ConversionRequest(str(tmp_path / "m.tflite")))


def test_damaged_samples_are_refused(tmp_path: Path) -> None:
    source = str(files.picture_keras(tmp_path / "m.keras"))
    path = samples(tmp_path)
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(UsageError, match="Cannot read"):
        convert(ConversionRequest(source, calibration=path))


def test_pickled_objects_are_not_read(tmp_path: Path) -> None:
    source = str(files.picture_keras(tmp_path / "m.keras"))
    for names in (("x",), ("y",)):
        arrays = {"x": np.zeros((20, 16, 16, 3), np.float32), "y": np.arange(20) % 4}
        arrays |= {name: np.array([object()] * 20, dtype=object) for name in names}
        np.savez(tmp_path / "data.npz", **arrays)  # type: ignore[arg-type]
        text = refusal(ConversionRequest(source, calibration=tmp_path / "data.npz"))
        assert "pickled Python objects" in text


def test_arrays_with_different_numbers_of_samples_or_too_few_are_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    x = np.random.default_rng(0).random((20, 16, 16, 3), np.float32)
    np.savez(path, x=x, y=np.arange(19) % 4)
    assert "'x' has 20 samples and 'y' has 19 samples" in refusal(ConversionRequest(source, calibration=path))
    np.savez(path, x=x, slice_place=np.arange(7))
    assert "'slice_place' has 7 samples" in refusal(ConversionRequest(source, calibration=path))
    np.savez(path, x=x[:4])
    assert "has 4 samples; calibration needs at least 10" in refusal(
        ConversionRequest(source, calibration=path)
    )
    passes(ConversionRequest(source, calibration=samples(tmp_path), test=path))  # few are enough for a score


def test_values_that_no_conversion_can_use_are_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    good = np.random.default_rng(0).random((20, 16, 16, 3), np.float32)
    for defect, text in ((np.nan, "1 NaN values in 1 of 20 samples"), (np.inf, "1 infinite values")):
        x = good.copy()
        x[7, 3, 2, 1] = defect
        np.savez(path, x=x)
        message = refusal(ConversionRequest(source, calibration=path))
        assert text in message and "the first in sample 7" in message
        np.savez(tmp_path / "good.npz", x=good)
        assert text in refusal(ConversionRequest(source, calibration=tmp_path / "good.npz", test=path))
    np.savez(path, x=np.full(good.shape, "loud"))
    assert "'x' is of type <U4" in refusal(ConversionRequest(source, calibration=path))
    np.savez(path, x=np.repeat(good[:1], 20, axis=0))
    assert "all 20 samples of 'x' are the same" in refusal(ConversionRequest(source, calibration=path))
    passes(ConversionRequest(source, calibration=tmp_path / "good.npz", test=path))


def test_a_folder_of_arrays_and_an_npy_file_are_read(source: str, tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    folder.mkdir()
    for k, x in enumerate(np.random.default_rng(0).random((20, 16, 16, 3), np.float32)):
        np.save(folder / f"{k:02}.npy", x[None])
    passes(ConversionRequest(source, calibration=folder))
    np.save(folder / "05.npy", np.full((1, 16, 16, 3), np.nan, np.float32))
    assert "768 NaN values in 1 of 20 samples" in refusal(ConversionRequest(source, calibration=folder))
    np.save(folder / "05.npy", np.ones((1, 16, 16, 1), np.float32))
    assert "05.npy has float32 samples of shape (16, 16, 1)" in refusal(
        ConversionRequest(source, calibration=folder)
    )
    np.save(tmp_path / "one.npy", np.ones((20, 8, 8, 3), np.float32))
    assert "'x' has shape (20, 8, 8, 3)" in refusal(
        ConversionRequest(source, calibration=tmp_path / "one.npy")
    )


def test_integers_for_a_source_with_unknown_types_are_accepted(tmp_path: Path) -> None:
    layers = [files.keras_layer("Embedding", "words", (None, 9), input_dim=50, output_dim=4)]
    source = str(files.keras_file(tmp_path / "m.keras", layers, (None, 9)))
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(0).integers(0, 50, (20, 9)).astype(np.int16))
    passes(ConversionRequest(source, calibration=tmp_path / "data.npz"))


@pytest.mark.parametrize("damage", ["cut off", "a text"])
def test_a_damaged_picture_is_refused(damage: str, tmp_path: Path) -> None:
    source = str(files.picture_keras(tmp_path / "m.keras"))
    folder = tmp_path / "pictures"
    rng = np.random.default_rng(0)
    for k in range(12):
        (folder / "ab"[k % 2]).mkdir(parents=True, exist_ok=True)
        path = folder / "ab"[k % 2] / f"{k}.png"
        Image.fromarray(rng.integers(0, 256, (20, 24, 3), np.uint8)).save(path)
    passes(ConversionRequest(source, calibration=folder, pixels="0..1"))
    path.write_bytes(path.read_bytes()[:80] if damage == "cut off" else b"not a picture")
    assert str(path) in refusal(ConversionRequest(source, calibration=folder, pixels="0..1"))


def test_a_missing_module_or_function_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = Path("random")
    assert "There is no module 'nets' in this folder" in refusal(
        ConversionRequest("nets:make", calibration=random)
    )
    (tmp_path / "nets.py").write_text("def build():\n    return None\n")
    assert "The module 'nets' has no function 'make'" in refusal(
        ConversionRequest("nets:make", calibration=random)
    )
    passes(ConversionRequest("nets:build", calibration=random))
    passes(ConversionRequest("torch:anything", calibration=random))  # a package of the environment
    (tmp_path / "nets.py").write_text("from others import *\n")
    passes(ConversionRequest("nets:make", calibration=random))  # the import may bring the name
    (tmp_path / "several").mkdir()
    (tmp_path / "several" / "__init__.py").write_text("")
    passes(ConversionRequest("several:make", calibration=random))
