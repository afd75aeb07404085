"""The device, the release and the commands of docs/fleet.md work as they are written."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.cli.main import main
from tests.docs.pages import ROOT
from tests.docs.schemas import problems
from tests.host.fleet.broker_helpers import needs_broker, until

PAGE = (ROOT / "docs/fleet.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def command(beginning: str) -> list[str]:
    """Return the words of the first command of the page that begins so, without ``arenite``."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"    arenite {beginning}"))
    return shlex.split(line)[1:]


def test_the_release_fits_its_schema() -> None:
    assert problems(json.loads(block("json"))) == []


@needs_broker
def test_the_page(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "release.json").write_text(block("json"))
    own_port = f"localhost:{port}"
    serve = [word.replace("localhost:1883", own_port) for word in command("fleet serve --database fleet.db")]
    programs = [
        [sys.executable, "-m", "arenite.host.cli.main", *serve],
        [sys.executable, "-c", block("python").replace("localhost:1883", own_port)],
    ]
    processes = [subprocess.Popen(program) for program in programs]
    try:

        def run(beginning: str) -> str:
            assert main(command(beginning)) == 0
            return capsys.readouterr().out

        until(
            lambda: (tmp_path / "fleet.db").exists() and "1 device" in run("fleet status --database fleet.db")
        )
        until(lambda: "raspberrypi_5" in run("fleet status --database fleet.db --devices"))
        assert "release 2.0.0: 1 images" in run("fleet rollout add")
        assert "rollout 1 of 2.0.0 to the group default has started" in run("fleet rollout start")
        until(lambda: "1 installed" in run("fleet rollout show"))
        assert "rollout 1 is paused" in run("fleet rollout pause")
        assert "rollout 1 is running" in run("fleet rollout resume")
        assert "rolling back 1 devices" in run("fleet rollout abort")
        # The device has no reason to send anything before its next heartbeat, so the roll back is not waited for.
        assert json.loads(run("fleet status --database fleet.db --json"))["releases"] == {"2.0.0": 1}
        assert "pump-1 is in the group lab" in run("fleet group pump-1 lab")
        assert all(process.poll() is None for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()
