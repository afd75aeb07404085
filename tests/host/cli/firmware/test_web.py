"""Tests of ``arenite web``."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.host.web.package import FILES
from tests.host.cli.conftest import Arenite

pytest.importorskip("ziglang", reason="needs ziglang")
pytestmark = pytest.mark.slow


def test_a_package_is_written(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    run = arenite("web", f"net={model}", "-o", tmp_path / "package", "--json")
    assert run.code == 0 and run.json["schema"] == "arenite.web/1"
    assert {f["name"] for f in run.json["files"]} == set(FILES.values())
    for file in run.json["files"]:
        assert (tmp_path / "package" / file["name"]).stat().st_size == file["bytes"]
    assert [m["name"] for m in run.json["models"]] == ["net"]


def test_a_folder_with_other_files_is_left_alone(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    arenite("web", f"net={model}", "-o", tmp_path).refused(2, "is not empty")
    assert [p.name for p in tmp_path.iterdir() if p.name == "letter.txt"] == ["letter.txt"]
    assert (tmp_path / "letter.txt").read_text() == "mine"
