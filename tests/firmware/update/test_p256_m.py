"""p256-m comes from a pinned package only: the first one that can be downloaded."""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.firmware.update import p256_m
from arenite.firmware.update.c_library import CLibrary, SourcePackage, library_folder
from arenite.models.manifest import Package

FILE = b"int answer(void) { return 42; }\n"


def archive(path: Path, folder: str, content: bytes) -> SourcePackage:
    """Write a package with the library's file, and return its description."""
    with tarfile.open(path, "w:bz2") as tar:
        info = tarfile.TarInfo(f"{folder}/answer.c")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    package = Package("answer", path.name, _digest(path.read_bytes()), path.stat().st_size, "MIT", "", ())
    return SourcePackage(package, path.name, folder)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CLibrary]:
    """A library in two packages of a server of this computer."""
    (tmp_path / "pool").mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Quiet, directory=str(tmp_path / "pool"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARENITE_ANSWER", raising=False)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    packages = []
    for number, folder in enumerate(("new/library", "old/3rdparty")):
        source = archive(tmp_path / "pool" / f"{number}.tar.bz2", folder, FILE)
        url = f"http://127.0.0.1:{server.server_port}/{source.file}"
        packages.append(replace(source, package=replace(source.package, url=url, registry="web")))
    yield CLibrary(
        "answer",
        tuple(packages),
        "ARENITE_ANSWER",
        {"answer.c": _digest(FILE)},
        {"psa/added.h": "#define A\n"},
    )
    server.shutdown()
    server.server_close()


def test_the_next_package_is_used_if_one_is_gone(library: CLibrary, tmp_path: Path) -> None:
    (tmp_path / "pool" / "0.tar.bz2").unlink()
    folder = library_folder(library, progress=False)
    assert (folder / "answer.c").read_bytes() == FILE
    assert (folder / "psa" / "added.h").read_text() == "#define A\n"
    (tmp_path / "pool" / "1.tar.bz2").unlink()
    assert library_folder(library, progress=False) == folder  # from the cache
    for name in ("answer.c", "psa/added.h"):
        (folder / name).write_text("changed")
        with pytest.raises(ToolError, match="HTTP status 404") as error:
            library_folder(library, progress=False)
        assert "ARENITE_ANSWER" in error.value.hint
        (folder / name).write_bytes(FILE if name == "answer.c" else b"#define A\n")


def test_a_package_that_changed_or_contains_another_file_is_refused(
    library: CLibrary, tmp_path: Path
) -> None:
    for number in range(2):
        archive(tmp_path / "pool" / f"{number}.tar.bz2", "new/library", b"evil")
    with pytest.raises(ToolError, match="differs from the pinned one"):
        library_folder(library, progress=False)
    evil = archive(tmp_path / "evil.tar.bz2", "new/library", b"evil")
    with pytest.raises(ToolError, match="differs from the pinned file"):
        library_folder(replace(library, packages=(evil,)), tmp_path / "evil.tar.bz2")
    assert not list((tmp_path / "cache").rglob("*.c"))


def test_a_package_of_this_computer(
    library: CLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENITE_ANSWER", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="Cannot read"):
        library_folder(library)
    path = tmp_path / "copy.tar.bz2"
    path.write_bytes((tmp_path / "pool" / "1.tar.bz2").read_bytes())
    monkeypatch.setenv("ARENITE_ANSWER", str(path))
    assert (library_folder(library) / "answer.c").read_bytes() == FILE
    path.write_bytes(b"other")
    (library_folder(library) / "answer.c").unlink(missing_ok=True)
    with pytest.raises(UsageError, match="has the SHA-256"):
        library_folder(library)


@pytest.mark.slow
@pytest.mark.parametrize("source", p256_m.PACKAGES, ids=lambda source: source.file)
def test_each_package_contains_the_pinned_files(
    source: SourcePackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(p256_m.VARIABLE, raising=False)
    try:
        folder = library_folder(replace(p256_m.P256_M, packages=(source,)), progress=False)
    except ToolError as error:
        if not error.problem.startswith("Could not download"):
            raise
        pytest.skip(f"needs the package: {error}")
    assert (folder / "p256-m.c").stat().st_size == 42936
