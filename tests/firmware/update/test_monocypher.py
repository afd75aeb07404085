"""Monocypher comes from the pinned package only."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.firmware.update import monocypher


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a package index that does not answer."""
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv(monocypher.VARIABLE, raising=False)
    return tmp_path / "cache"


def test_files_in_the_cache_are_used_only_unchanged(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # with the real cache
    folder = monocypher.monocypher_folder(progress=False)
    data = {name: (folder / name).read_bytes() for name in monocypher.FILES}
    monkeypatch.setenv("ARENITE_CACHE", str(cache))
    copy = cache / "libraries" / folder.name
    copy.mkdir(parents=True)
    for name, content in data.items():
        (copy / name).write_bytes(content)
    assert monocypher.monocypher_folder() == copy
    (copy / "monocypher.c").write_bytes(data["monocypher.c"] + b"\n")
    monkeypatch.setenv(monocypher.VARIABLE, "/none.tar.gz")
    with pytest.raises(UsageError, match="Cannot read /none"):
        monocypher.monocypher_folder()


@pytest.mark.slow
def test_without_a_network_the_error_names_the_variable(cache: Path) -> None:
    with pytest.raises(ToolError, match="Could not download pymonocypher") as error:
        monocypher.monocypher_folder(progress=False)
    assert monocypher.VARIABLE in error.value.hint


def test_another_package_is_refused(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "pymonocypher-4.0.3.4.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        info = tarfile.TarInfo("pymonocypher-4.0.3.4/monocypher.c")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"evil"))
    monkeypatch.setenv(monocypher.VARIABLE, str(archive))
    with pytest.raises(UsageError, match=r"has the SHA-256 .* has 5e56e3d3eb77"):
        monocypher.monocypher_folder()
    assert not list(cache.rglob("*.c"))
