"""Tests of atomic writes: a file is written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.files import write_atomic


def test_write_atomic_writes_bytes_and_text_and_creates_folders(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a" / "b.bin", b"\0\1")
    write_atomic(tmp_path / "a" / "b.txt", "µ")
    assert (tmp_path / "a" / "b.bin").read_bytes() == b"\0\1"
    assert (tmp_path / "a" / "b.txt").read_text(encoding="utf-8") == "µ"
    assert sorted(os.listdir(tmp_path / "a")) == ["b.bin", "b.txt"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o750)
    write_atomic(path, "new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o750


def test_a_failed_write_leaves_only_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old"
    path.write_text("old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"Cannot write .*old: No space left"):
        write_atomic(path, "new")
    assert os.listdir(tmp_path) == ["old"] and path.read_text() == "old"


def test_a_path_below_a_file_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Cannot write"):
        write_atomic(tmp_path / "file" / "x", b"")


def test_links_and_pipes_are_written_through_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(tmp_path / "pipe", b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=r"Cannot write .*folder"):
        write_atomic(tmp_path / "folder", b"")
    assert os.listdir(tmp_path) == ["folder"]
