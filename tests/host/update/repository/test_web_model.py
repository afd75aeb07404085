"""The folder of a page is published as a model for web pages: its description and its modules are signed targets."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from tests.host.update.repository.repositories import NO_TUF, Publisher, client, write_model

pytest.importorskip("tuf", reason=NO_TUF)


def write_page(folder: Path, *names: str, **changes: Any) -> Path:
    """Write the files of a page that are published, with modules that only have the form of one."""
    folder.mkdir()
    files = []
    for name in names:
        module = b"\0asm" + name.encode() + folder.name.encode()
        (folder / name).write_bytes(module)
        files.append({"name": name, "sha256": hashlib.sha256(module).hexdigest()})
    description = {"schema": "arenite.web-model/1", "files": files, "models": [{"name": "net"}], **changes}
    (folder / "model.json").write_text(json.dumps(description))
    return folder


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher(tmp_path / "models")


def targets(publisher: Publisher, number: int) -> dict[str, Any]:
    content = json.loads((publisher.folder / "metadata" / f"{number}.targets.json").read_bytes())
    found: dict[str, Any] = content["signed"]["targets"]
    return found


def test_the_modules_are_those_of_the_present_version(publisher: Publisher, tmp_path: Path) -> None:
    first = publisher.add(write_page(tmp_path / "one", "model.wasm", "model-scalar.wasm"), "1.0.0")
    assert first.kind == "web" and first.counter == 1
    assert set(targets(publisher, 2)) == {"detector", "detector/model.wasm", "detector/model-scalar.wasm"}
    publisher.add(write_page(tmp_path / "two", "model-scalar.wasm"), "2.0.0")
    found = targets(publisher, 3)
    assert set(found) == {"detector", "detector/model-scalar.wasm"}
    for path, entry in found.items():
        folder, _, name = path.rpartition("/")
        file = publisher.folder / "targets" / folder / f"{entry['hashes']['sha256']}.{name}"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == entry["hashes"]["sha256"]
    # The client of cameras finds it, and knows that it is of another kind.
    target = client(publisher, tmp_path / "cache").find("detector")
    assert target is not None and target.kind == "web" and target.version == "2.0.0"
    with pytest.raises(UsageError, match=r"has the kind 'web', and 3\.0\.0 would have 'tflite'"):
        publisher.add(write_model(tmp_path / "model.tflite"), "3.0.0")
    assert not (publisher.folder / "metadata" / "4.targets.json").exists()


def test_a_folder_that_is_no_page_is_refused(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"the file model\.json is missing"):
        publisher.add(tmp_path / "empty", "1.0.0")
    wrong: list[dict[str, Any]] = [
        {"schema": "other/1"},
        {"models": []},
        {"files": []},
        {"files": [{"name": "../x.wasm", "sha256": ""}]},
    ]
    for number, changes in enumerate(wrong):
        page = write_page(tmp_path / f"page{number}", "model.wasm", **changes)
        with pytest.raises(UsageError, match="does not describe a model for web pages"):
            publisher.add(page, "1.0.0")
    page = write_page(tmp_path / "damaged", "model.wasm")
    (page / "model.wasm").write_bytes(b"other")
    with pytest.raises(UsageError, match=r"is not the module that model\.json describes"):
        publisher.add(page, "1.0.0")
    assert not list((publisher.folder / "targets").iterdir())
