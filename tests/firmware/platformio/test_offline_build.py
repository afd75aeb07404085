"""``pio run`` builds the project of every emulated board on a computer without a network, into what it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import all_boards, load_board
from tests.host.small_graphs import classifier, save

EMULATED = [board.name for board in all_boards() if board.emulated]
PROTOCOLS = ("arenite", "mlperf")


def _cut_off() -> list[str]:
    """What to put before a command to take its network away: a network namespace of its own, where that is allowed."""
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if (
            shutil.which("unshare")
            and subprocess.run([*command, "true"], capture_output=True).returncode == 0
        ):
            return command
    return []


CUT_OFF = _cut_off()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("model") / "classifier.tflite"))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", EMULATED)
def test_every_emulated_environment_builds(name: str, protocol: str, model: Prepared, tmp_path: Path) -> None:
    """As a user would, who has never run PlatformIO before: no settings, an empty home, no way out."""
    project = tmp_path / "project"
    generate_project(model, load_board(name), project, BuildOptions("balanced", protocol=protocol))
    nowhere = "http://127.0.0.1:9"  # where namespaces are not allowed, no proxy answers
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), nowhere)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PLATFORMIO")}
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [*CUT_OFF, sys.executable, "-m", "platformio", "run", "--project-dir", str(project)],
        env={**kept, **proxies, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = project / ".pio/build" / name / "firmware.elf"
    assert built.read_bytes() == direct_build(project).read_bytes()
    assert not (home / ".platformio/platforms").exists()


def test_all_kinds_of_cores_are_emulated() -> None:
    cores = {load_board(name).core for name in EMULATED}
    assert len(EMULATED) >= 9 and {"cortex-m0", "cortex-m55", "rv32imc", "xtensa-lx106"} <= cores


@pytest.mark.skipif(not CUT_OFF, reason="network namespaces are not allowed here")
def test_without_a_network_means_without() -> None:
    """In the namespace not even this computer can be reached: what builds there asks nobody for anything."""
    program = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 9)))"
    done = subprocess.run([*CUT_OFF, sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "101"  # ENETUNREACH: the loopback device is down too
