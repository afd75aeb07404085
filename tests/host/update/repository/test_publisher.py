"""The publisher's side of a repository: what it writes, and the mistakes that it reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("tuf", reason="needs tuf: pip install 'arenite[update]'")
from arenite.converters.tflite.image import save_image
from arenite.errors import ModelError, UsageError
from arenite.host.update.keys import generate_key
from arenite.host.update.repository.publisher import (
    Expiry,
    RoleKeys,
    add_model,
    init_repository,
    refresh_repository,
)
from tests.host.small_graphs import classifier, save
from tests.host.update.repository.repositories import Publisher, write_model


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher(tmp_path / "repository")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "detector.tflite"
    write_model(path)
    return path


def files(publisher: Publisher) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in publisher.folder.rglob("*") if path.is_file()}


def test_a_repository_is_never_overwritten(publisher: Publisher) -> None:
    before = files(publisher)
    with pytest.raises(UsageError, match="has a repository already"):
        init_repository(publisher.folder, publisher.keys)
    assert files(publisher) == before


def test_counters_rise_and_never_fall(publisher: Publisher, model: Path) -> None:
    assert publisher.add(model, "1.0.0").counter == 1
    second = publisher.add(model, "1.1.0", counter=7, min_counter=3)
    assert (second.counter, second.min_counter) == (7, 3)
    third = publisher.add(model, "1.2.0")
    assert (third.counter, third.min_counter) == (8, 3)
    before = files(publisher)
    for version, numbers, words in (
        ("1.3.0", {"counter": 8}, "is not higher than"),
        ("1.3.0", {"min_counter": 2}, "which clients remember"),
        ("1.3.0", {"counter": 9, "min_counter": 10}, "lowest counter <= counter"),
        ("1.2.0", {}, "has detector 1.2.0 already"),
        ("1/2", {}, "is not a version"),
    ):
        with pytest.raises(UsageError, match=words):
            publisher.add(model, version, **numbers)  # type: ignore[arg-type]
    assert files(publisher) == before


def test_only_the_keys_of_the_repository_sign(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    generate_key(tmp_path / "other.pem")
    other, before = tmp_path / "other.pem", files(publisher)
    for keys in (RoleKeys(None, other, publisher.keys.online), RoleKeys(None, publisher.keys.targets, other)):
        with pytest.raises(UsageError, match="is not the one with which"):
            add_model(publisher.folder, model, "detector", "1.0.0", keys)
    with pytest.raises(UsageError, match="targets key is missing"):
        add_model(publisher.folder, model, "detector", "1.0.0", RoleKeys(online=publisher.keys.online))
    with pytest.raises(UsageError, match="cannot sign"):
        public = RoleKeys(online=other.with_name("other.public.pem"))
        refresh_repository(publisher.folder, public)
    assert files(publisher) == before


def test_dates(publisher: Publisher) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    dates = refresh_repository(publisher.folder, RoleKeys(online=publisher.keys.online), Expiry(100, 3, now))
    assert dates["timestamp"] == dates["snapshot"] == now + timedelta(days=3)
    assert dates["root"] < now  # its key was not given
    dates = refresh_repository(publisher.folder, publisher.keys, Expiry(100, 3, now))
    assert dates["root"] == dates["targets"] == now + timedelta(days=100)


def test_files_that_are_no_models(publisher: Publisher, tmp_path: Path) -> None:
    text = tmp_path / "text.tflite"
    text.write_text("hello")
    with pytest.raises(UsageError, match="is not a model"):
        publisher.add(text, "1.0.0")
    save(classifier(), text)
    text.write_bytes(text.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"text\.tflite"):
        publisher.add(text, "1.0.0")
    with pytest.raises(UsageError, match=r"none\.tflite"):
        publisher.add(tmp_path / "none.tflite", "1.0.0")


def test_kinds(publisher: Publisher, tmp_path: Path) -> None:
    save(classifier(), tmp_path / "plain.tflite")
    assert publisher.add(tmp_path / "plain.tflite", "0.9.0").kind == "tflite"
    save_image(classifier(), None, tmp_path / "image.tflite")
    assert publisher.add(tmp_path / "image.tflite", "1.0.0").kind == "image"
    network = tmp_path / "network.onnx"
    network.write_bytes(b"onnx")
    assert publisher.add(network, "1.1.0").kind == "onnx"


def test_a_folder_without_a_repository(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no repository"):
        add_model(tmp_path / "empty", model, "detector", "1.0.0", publisher.keys)
