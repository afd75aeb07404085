"""Tests of the cache folder, which contains downloaded and built files."""

from pathlib import Path

import pytest

from arenite.files import cache_directory


def test_cache_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("ARENITE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "arenite"
