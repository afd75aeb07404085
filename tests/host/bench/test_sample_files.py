"""Folders of pictures and recordings as samples of a bench run."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from arenite.converters.graph.model import Quantization, Tensor
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.image import image_bytes
from arenite.errors import UsageError
from arenite.host.bench.sample_files import file_samples
from arenite.host.cli.main import cli
from tests.host.small_graphs import classifier

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

STEPS = {
    "source": {"kind": "image"},
    "steps": [{"do": "resize", "width": 12, "height": 12}, {"do": "normalise", "divide": 127.5, "mean": 1}],
}
#: The metadata of the model.
EXTRA: dict[str, Any] = {"preprocessing": STEPS, "labels": ["zebra", "dog", "cat", "horse", "none"]}
TENSOR = Tensor(0, "x", (1, 12, 12, 3), "int8", Quantization((0.02,), (3,)))


def pictures(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Write a picture for each name, each with another size. Return the pixels by name."""
    rng = np.random.default_rng(0)
    images = {}
    for k, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        images[name] = rng.integers(0, 256, (20 + k, 30 - k, 3), np.uint8)
        Image.fromarray(images[name]).save(path)
    return images


def test_sub_folders_are_classes(tmp_path: Path) -> None:
    images = pictures(tmp_path, ["cat/a.png", "cat/b.PNG", "dog/deep/c.png", "dog/.hidden/d.png"])
    (tmp_path / "cat/notes.txt").write_text("no picture")
    samples = file_samples(tmp_path, [TENSOR], EXTRA)
    assert samples.labels is not None and samples.labels.tolist() == [2, 2, 1]
    spec = Preprocessing.from_json(STEPS).bound(TENSOR)
    for [actual], name in zip(samples.inputs, ["cat/a.png", "cat/b.PNG", "dog/deep/c.png"], strict=True):
        expected = preprocess_image(spec, images[name], "rgb")
        assert (actual.dtype, actual.shape) == (np.int8, TENSOR.shape) and np.array_equal(actual[0], expected)
    unnamed = file_samples(tmp_path, [TENSOR], {"preprocessing": STEPS})
    assert unnamed.labels is not None and unnamed.labels.tolist() == [0, 0, 1]
    limited = file_samples(tmp_path, [TENSOR], EXTRA, 2)
    assert limited.labels is not None and (len(limited), limited.labels.tolist()) == (2, [2, 2])


def test_a_folder_that_no_label_names_is_refused_without_labels_txt(tmp_path: Path) -> None:
    pictures(tmp_path, ["Cat/a.png", "dog/b.png"])
    with pytest.raises(UsageError, match="class 'Cat', which is not a label of the model"):
        file_samples(tmp_path, [TENSOR], EXTRA)
    (tmp_path / "labels.txt").write_text("dog\nCat\n")
    ordered = file_samples(tmp_path, [TENSOR], EXTRA)
    assert ordered.labels is not None and ordered.labels.tolist() == [1, 0]


def test_a_folder_without_sub_folders_has_no_labels(tmp_path: Path) -> None:
    pictures(tmp_path, ["a.png", "b.png"])
    assert file_samples(tmp_path, [TENSOR], EXTRA).labels is None
    assert len(file_samples(tmp_path / "a.png", [TENSOR], EXTRA)) == 1


def test_data_that_does_not_fit_the_model_is_refused_with_a_reason(tmp_path: Path) -> None:
    pictures(tmp_path / "some", ["a.png"])
    (tmp_path / "none").mkdir()
    for path, tensors, extra, problem in (
        (tmp_path / "some", [TENSOR], {}, "records no preprocessing"),
        (tmp_path / "some", [TENSOR] * 2, EXTRA, "has 2 inputs"),
        (tmp_path / "none", [TENSOR], EXTRA, "contains no .png"),
        (tmp_path / "nowhere", [TENSOR], EXTRA, "nowhere does not exist"),
        (tmp_path / "some", [TENSOR], {"preprocessing": {"steps": 3}}, "is not a list"),
    ):
        with pytest.raises(UsageError, match=problem):
            file_samples(path, tensors, extra)


@pytest.mark.slow
@pytest.mark.qemu
def test_bench_runs_a_folder_of_pictures(tmp_path: Path) -> None:
    """A bench of a folder of pictures preprocesses them, and each output of the device equals that of LiteRT."""
    pictures(tmp_path / "data", ["cat/a.png", "dog/b.png", "zebra/c.png"])
    path = tmp_path / "model.tflite"
    path.write_bytes(image_bytes(classifier(), None, extra=EXTRA))
    arguments = ["bench", str(path), "--board", "qemu_mps2_an386", "--data", str(tmp_path / "data")]
    result = CliRunner().invoke(cli, [*arguments, "--no-cycles", "--json"])
    assert result.exit_code == 0, result.output
    samples = json.loads(result.stdout)["samples"]
    assert (samples["count"], samples["bit_exact"]) == (3, 3) and samples["accuracy"] is not None


def test_a_recording_becomes_a_spectrogram(tmp_path: Path) -> None:
    path = tmp_path / "yes/a.wav"
    path.parent.mkdir()
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(np.random.default_rng(0).integers(-999, 999, 800).astype("<i2").tobytes())
    steps = [{"do": "frame", "length": 256, "step": 128}, {"do": "fft", "length": 256}]
    steps += [{"do": "mel", "bins": 8, "high": 4000}, {"do": "log", "offset": 1e-6}]
    record = {"source": {"kind": "audio", "rate": 16000, "samples": 800}, "steps": steps}
    tensor = Tensor(0, "x", (1, 5, 8, 1), "int8", Quantization((0.1,), (3,)))
    samples = file_samples(tmp_path, [tensor], {"preprocessing": record, "labels": ["no", "yes"]})
    assert samples.labels is not None and samples.labels.tolist() == [1]
    assert samples.inputs[0][0].shape == (1, 5, 8, 1) and len(np.unique(samples.inputs[0][0])) > 5
