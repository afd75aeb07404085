"""Tests of the folder in which samples of users of a page are stored."""

from __future__ import annotations

import json
import wave
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.web.serving import sample_collection
from arenite.host.web.serving.sample_collection import CollectionError, SampleCollection, SampleFormat

PICTURE = SampleFormat(width=5, height=3)
SOUND = SampleFormat(rate=16000, count=40)
#: Red, green, blue and alpha of each pixel of a picture.
PIXELS = np.arange(60, dtype=np.uint8).reshape(3, 5, 4)


def test_pictures_are_stored_by_class(tmp_path: Path) -> None:
    collection = SampleCollection(tmp_path / "data", PICTURE, ("cat", "a/b", "A_b"))
    names = [collection.add(PIXELS.tobytes(), label, '[["cat", "90 %"]]') for label in ("cat", "a/b", "A_b")]
    folders = [name.split("/")[0] for name in names]
    assert folders == ["cat", "a_b", "A_b (2)"]
    assert (tmp_path / "data/labels.txt").read_text().splitlines() == folders
    records = [json.loads(line) for line in (tmp_path / "data/collected.jsonl").read_text().splitlines()]
    assert records[0] == {"file": names[0], "label": "cat", "answer": [["cat", "90 %"]]}
    assert [r["label"] for r in records] == ["cat", "a/b", "A_b"]


def test_a_png_has_the_pixels_without_alpha() -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    stored = np.asarray(image.open(BytesIO(PICTURE.file(PIXELS.tobytes()))))
    assert stored.tolist() == PIXELS[..., :3].tolist()


def test_a_wav_has_the_samples() -> None:
    samples = np.arange(-20, 20, dtype="<i2")
    with wave.open(BytesIO(SOUND.file(samples.tobytes()))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2)
        assert file.readframes(100) == samples.tobytes()


def test_a_second_run_adds_to_the_folder(tmp_path: Path) -> None:
    SampleCollection(tmp_path, PICTURE, ("cat", "dog")).add(PIXELS.tobytes(), "cat", "[]")
    SampleCollection(tmp_path, PICTURE, ("cat", "dog")).add(PIXELS.tobytes(), "cat", "[]")
    assert len(list(tmp_path.rglob("*.png"))) == 2
    with pytest.raises(UsageError, match="other classes"):
        SampleCollection(tmp_path, PICTURE, ("cat", "bird"))


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(UsageError, match="--collect did not write"):
        SampleCollection(tmp_path, PICTURE)
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]


def test_folders_have_different_names(tmp_path: Path) -> None:
    labels = ("a", "a (2)", "A", "labels.txt", "é" * 300, ".")
    collection = SampleCollection(tmp_path, PICTURE, labels)
    names = [collection.add(PIXELS.tobytes(), label, "[]") for label in labels]
    assert len({name.split("/")[0].lower() for name in names}) == len(labels)
    assert all((tmp_path / name).is_file() for name in names)


def test_a_damaged_list_of_labels_is_one_of_other_classes(tmp_path: Path) -> None:
    SampleCollection(tmp_path, PICTURE, ("cat",))
    (tmp_path / "labels.txt").write_bytes(b"\xff\n")
    with pytest.raises(UsageError, match="other classes"):
        SampleCollection(tmp_path, PICTURE, ("cat",))


def test_a_sample_without_a_line_in_the_record_is_not_kept(tmp_path: Path) -> None:
    collection = SampleCollection(tmp_path, PICTURE)
    (tmp_path / "collected.jsonl").unlink()
    (tmp_path / "collected.jsonl").mkdir()
    with pytest.raises(CollectionError, match="cannot be stored"):
        collection.add(PIXELS.tobytes(), "", "[]")
    assert [path.name for path in tmp_path.iterdir()] == ["collected.jsonl"]


@pytest.mark.parametrize(
    ("data", "label", "answer", "message"),
    [
        (b"1", "cat", "[]", "has 60 bytes"),
        (PIXELS.tobytes(), "../cat", "[]", "not a class"),
        (PIXELS.tobytes(), "", "[]", "not a class"),
        (PIXELS.tobytes(), "cat", "{", "not JSON"),
        (PIXELS.tobytes(), "cat", "[" * 4000, "not JSON"),
        (PIXELS.tobytes(), "cat", "NaN", "not JSON"),
        (PIXELS.tobytes(), "cat", "[1e999]", "not JSON"),
        (PIXELS.tobytes(), "cat", " " * 5000, "too long"),
        (PIXELS.tobytes(), "cat", f'"{"é" * 3000}"', "too long"),
    ],
)
def test_samples_that_do_not_fit_are_refused(
    tmp_path: Path, data: bytes, label: str, answer: str, message: str
) -> None:
    collection = SampleCollection(tmp_path, PICTURE, ("cat",))
    with pytest.raises(CollectionError, match=message):
        collection.add(data, label, answer)
    assert not list(tmp_path.rglob("*.png")) and (tmp_path / "collected.jsonl").read_text() == ""


def test_the_size_of_the_folder_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_collection, "MAX_FOLDER_BYTES", 400)
    collection = SampleCollection(tmp_path, PICTURE)
    collection.add(PIXELS.tobytes(), "", "[]")
    with pytest.raises(CollectionError, match="samples already"):
        for _ in range(5):
            collection.add(PIXELS.tobytes(), "", "[]")
    assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) <= 400
