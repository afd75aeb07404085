"""A release takes the calibration records of its models from their images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arenite.host.fleet.open_database import open_database
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import NAME, make_firmware, make_model
from tests.host.cli.conftest import Arenite, Run, arenite
from tests.host.gateway.plant import hash_of

pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
__all__ = ["arenite"]
HISTOGRAMS = {"inputs": [[1, 2, 0]], "classes": [3, 0]}
RECORD = {"schema": "arenite.reference/1", "model": "0" * 64, "samples": 3, **HISTOGRAMS}


class Registry:
    """A fleet's database, and a folder of images."""

    def __init__(self, folder: Path, arenite: Arenite) -> None:
        self._folder, self._arenite = folder, arenite
        self._url = f"sqlite:{folder / 'fleet.db'}"
        self.images = folder / "images"
        self.images.mkdir()
        with open_database(self._url).transaction():
            pass  # makes the tables

    def model(self, record: object = RECORD) -> str:
        """Write the image of a model with ``record``. Return its hash."""
        content = None if record is None else json.dumps(record).encode()
        data = make_model(record=content)
        (self.images / "model.bin").write_bytes(data)
        return hash_of(data)

    def add(self, release: str, entry: dict[str, Any], *options: object) -> Run:
        file = self._folder / "release.json"
        images = [{"board": NAME, **entry}]
        file.write_text(json.dumps({"schema": "arenite.release/1", "release": release, "images": images}))
        return self._arenite("fleet", "rollout", "add", file, *options, "--database", self._url)

    def reference(self, release: str) -> Any:
        """Return the reference that the gates of drift use."""
        with open_database(self._url).transaction() as transaction:
            row = transaction.query_one("SELECT reference FROM release_images WHERE release = ?", (release,))
        assert row is not None
        return json.loads(row[0])


@pytest.fixture
def registry(tmp_path: Path, arenite: Arenite) -> Registry:
    return Registry(tmp_path, arenite)


def test_the_record_of_the_image_is_the_reference(registry: Registry) -> None:
    digest = registry.model()
    added = registry.add("1.0", {"image": digest}, "--images", registry.images)
    assert added.code == 0 and added.err == "" and registry.reference("1.0") == HISTOGRAMS
    firmware = make_firmware()
    (registry.images / "firmware.bin").write_bytes(firmware)
    pair = {"firmware": hash_of(firmware), "model": digest}
    assert registry.add("2.0", pair, "--images", registry.images).code == 0
    assert registry.reference("2.0") == HISTOGRAMS
    # Without the folder, nothing is known of the image.
    added = registry.add("3.0", {"image": digest})
    assert added.code == 0 and "the release has no reference, so there are no gates of drift" in added.err
    assert registry.reference("3.0") is None


def test_an_image_of_another_board_is_a_mistake(registry: Registry) -> None:
    entry = {"board": "pico", "image": registry.model()}
    registry.add("1.0", entry, "--images", registry.images).refused(2, f"model.bin is for {NAME}")


def test_the_reference_of_the_release_wins_and_a_difference_is_told(registry: Registry) -> None:
    entry: dict[str, Any] = {"image": registry.model(), "reference": HISTOGRAMS}
    assert registry.add("1.0", entry, "--images", registry.images).err == ""
    entry["reference"] = {**HISTOGRAMS, "classes": [0, 3]}
    added = registry.add("2.0", entry, "--images", registry.images)
    assert added.code == 0 and f"{NAME}: the reference of the release differs" in added.err
    assert "model.bin" in added.err and registry.reference("2.0") == entry["reference"]


def test_a_missing_record_is_told(registry: Registry) -> None:
    digest = registry.model(None)
    added = registry.add("1.0", {"image": digest}, "--images", registry.images)
    assert added.code == 0 and "model.bin has no record, so there are no gates of drift" in added.err
    added = registry.add("2.0", {"image": "0" * 64}, "--images", registry.images)
    assert added.code == 0 and "no image with its hash was found" in added.err
    assert registry.reference("1.0") is registry.reference("2.0") is None


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([], "is no reference"),
        ({**RECORD, "classes": [[1]]}, "is malformed"),
        ({**RECORD, "inputs": [[2**31]]}, "is malformed"),
    ],
)
def test_a_malformed_record_and_a_missing_folder_are_mistakes(
    registry: Registry, record: object, problem: str
) -> None:
    entry = {"image": registry.model(record)}
    registry.add("1.0", entry, "--images", registry.images).refused(2, problem)
    registry.add("1.0", entry, "--images", registry.images / "none").refused(2, "There is no folder")
