"""A source archive comes from the index that pip is set to, its hash is checked, and nothing in it is run."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.models.download import download_package
from arenite.models.manifest import Package

NAME = "arenite_archive-1.0.tar.gz"


class Server(ThreadingHTTPServer):
    """Serves a folder, to everybody or to one user."""

    login = ""


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        expected = "Basic " + base64.b64encode(self.server.login.encode()).decode()
        if self.server.login and self.headers.get("Authorization") != expected:
            self.send_error(401)
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """An index on this computer. The archive's setup.py writes a file if it is run."""
    folder = tmp_path / "index"
    (folder / "simple" / "arenite-archive").mkdir(parents=True)
    (folder / "files").mkdir()
    setup = f"open({str(tmp_path / 'was_run')!r}, 'w').close()".encode()
    with tarfile.open(folder / "files" / NAME, "w:gz") as tar:
        info = tarfile.TarInfo("arenite_archive-1.0/setup.py")
        info.size = len(setup)
        tar.addfile(info, io.BytesIO(setup))
    page = f'<a href="../../files/other-1.0.tar.gz">o</a><a href="../../files/{NAME}#sha256=00">{NAME}</a>'
    (folder / "simple" / "arenite-archive" / "index.html").write_text(page)
    server = Server(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield server
    server.shutdown()
    server.server_close()


def package(tmp_path: Path, sha256: str = "") -> Package:
    data = (tmp_path / "index" / "files" / NAME).read_bytes()
    digest = sha256 or hashlib.sha256(data).hexdigest()
    return Package("arenite-archive", "1.0", digest, len(data), "MIT", "", pip=(), registry="sdist")


def download(wanted: Package, tmp_path: Path) -> bytes:
    with download_package(wanted, tmp_path / "cache", progress=False) as file:
        assert file.name == NAME
        return file.read_bytes()


def test_the_archive_of_the_index_is_not_run(index: Server, tmp_path: Path) -> None:
    data = download(package(tmp_path), tmp_path)
    assert data == (tmp_path / "index" / "files" / NAME).read_bytes()
    assert not (tmp_path / "was_run").exists()


def test_a_changed_archive_is_refused(index: Server, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="differs from the pinned one"):
        download(package(tmp_path, "0" * 64), tmp_path)


def test_an_index_with_a_password(index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index.login = "user:p@ss"
    with pytest.raises(ToolError, match="Unauthorized"):
        download(package(tmp_path), tmp_path)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:p%40ss@127.0.0.1:{index.server_port}/simple")
    assert download(package(tmp_path), tmp_path)


def test_the_next_index_and_folders_of_pip_are_used(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://127.0.0.1:{index.server_port}"
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/none")
    with pytest.raises(ToolError, match=r"Could not download arenite_archive-1\.0"):
        download(package(tmp_path), tmp_path)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{address}/none {address}/simple/")
    assert download(package(tmp_path), tmp_path)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index" / "files"))
    assert download(package(tmp_path), tmp_path)


def test_the_settings_of_a_file_of_pip(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nindex-url = http://127.0.0.1:{index.server_port}/simple\n")
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    assert download(package(tmp_path), tmp_path)
