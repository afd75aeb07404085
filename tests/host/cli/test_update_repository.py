"""`arenite update repository`, and the commands of the page about updates of a running camera."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("tuf", reason="needs tuf: pip install 'arenite[update]'")
from arenite.host.update.repository.client import ModelRepository, cache_of
from tests.host.camera.updates.runs import copy_of
from tests.host.cli.conftest import Arenite
from tests.host.update.repository.repositories import http_server, write_model

PAGE = Path(__file__).parents[3] / "docs" / "camera-updates.md"
ROLES = ("root", "targets", "online")


@pytest.fixture
def keys(arenite: Arenite, tmp_path: Path) -> list[str]:
    """Return the options with the keys of a publisher."""
    for role in ROLES:
        assert arenite("update", "keygen", tmp_path / f"{role}.pem").code == 0
    return [f"--{role}-key={tmp_path / role}.pem" for role in ROLES]


def test_a_model_is_published(arenite: Arenite, keys: list[str], tmp_path: Path) -> None:
    folder, model = tmp_path / "models", tmp_path / "detector.tflite"
    write_model(model)
    repository = ("update", "repository")
    assert "trusted root" in arenite(*repository, "init", folder, *keys).out
    arenite(*repository, "init", folder, *keys).refused(2, "has a repository already")
    add = (*repository, "add", folder, model, "--name", "detector", *keys[1:])
    assert (
        f"detector 1.0.0: tflite, {model.stat().st_size:,} bytes, counter 1"
        in arenite(*add, "--version", "1.0.0").out
    )
    arenite(*add, "--version", "1.0.0").refused(2, "has detector 1.0.0 already")
    arenite(*add, "--version", "1.1.0", "--counter", "1").refused(2, "is not higher than")
    arenite(*repository, "add", folder, model, "--name", "../x", "--version", "1", *keys[1:]).refused(
        2, "../x"
    )
    lines = arenite(*repository, "refresh", folder, keys[2], "--online-days", "3").out.splitlines()
    assert [line.split()[0] for line in lines] == ["root", "targets", "snapshot", "timestamp"]
    arenite(*repository, "refresh", folder, keys[1].replace("targets-key", "online-key")).refused(
        2, "is not the one"
    )
    found = ModelRepository(str(folder), folder / "root.json", tmp_path / "cache").find("detector")
    assert found is not None and found.version == "1.0.0"


@pytest.mark.slow
def test_the_commands_of_the_page(arenite: Arenite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = re.findall(r"^    arenite (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    copy_of("visual_wake_words", tmp_path / "detector.tflite")
    copy_of("visual_wake_words", tmp_path / "detector_2.tflite", padding=16)
    update = [command for command in commands if command.startswith("update")]
    camera = [command for command in commands if command.startswith("camera")]
    assert [command.split()[1:3][-1] for command in update[3:]] == ["init", "add", "refresh"] and len(
        camera
    ) == 3
    for command in update:
        assert arenite(*command.split()).code == 0, command
    shutil.copy("models/root.json", "root.json")
    with http_server(tmp_path / "models") as address:
        for command in camera:
            local = re.sub(r"https?://[\w.:]+(/cameras)?", address, command)
            result = arenite(*local.split(), "--source", "synthetic", "--frames", "20", "--json")
            assert result.code == 0 and result.json["updates"]["model"] == "detector", result
    shutil.rmtree(cache_of(Path("root.json").read_bytes()), ignore_errors=True)
