"""Models that are single files at a web address, with a server on this computer."""

from __future__ import annotations

import functools
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.models import zoo
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import Package
from tests.development_models import shared_model

DATA = b"a model" * 999


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a folder with the file `small.tflite`."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "small.tflite").write_bytes(DATA)
    handler = functools.partial(_QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def file_at(url: str, sha256: str = hashlib.sha256(DATA).hexdigest()) -> Package:
    return Package("small", "1", sha256, len(DATA), "MIT", url, (), registry="web")


def test_a_file_is_downloaded_and_its_hash_compared(address: str, tmp_path: Path) -> None:
    with download_package(file_at(f"{address}/small.tflite"), tmp_path / "cache") as path:
        assert read_member(path, ()) == DATA
    wrong = file_at(f"{address}/small.tflite", "1" * 64)
    with (
        pytest.raises(ToolError, match=r"127\.0\.0\.1:\d+ has a file for small 1 that differs"),
        download_package(wrong, tmp_path / "cache"),
    ):
        pass
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_missing_file_is_told(address: str, tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match=r"Could not download small 1 .*HTTP status 404") as caught,
        download_package(file_at(f"{address}/large.tflite"), tmp_path),
    ):
        pass
    assert "https_proxy" in caught.value.hint


def test_a_file_is_added_to_the_cache_by_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    unknown = tmp_path / "unknown.tflite"
    unknown.write_bytes(DATA)
    with pytest.raises(UsageError, match="is no model of the zoo"):
        zoo.add(unknown)
    with pytest.raises(UsageError, match="Cannot read"):
        zoo.add(tmp_path / "missing.tflite")


def test_a_development_model_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    entry = zoo.add(shared_model("person_detect_int8"))
    assert entry.name == "person_detect" and zoo.is_cached(entry)
    assert zoo.fetch("person_detect", progress=False) == zoo.cached_path(entry)
