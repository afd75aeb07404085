"""``pio run`` builds the project of every emulated board without a network, with the same result as a direct build."""

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

EMULATED = [board.name for board in all_boards() if board.emulated and board.rtl is None]
PROTOCOLS = ("arenite", "mlperf")


def _offline_prefix() -> list[str]:
    """Return a command prefix that starts a process without a network, or [] if namespaces are not allowed."""
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if (
            shutil.which("unshare")
            and subprocess.run([*command, "true"], capture_output=True).returncode == 0
        ):
            return command
    return []


OFFLINE_PREFIX = _offline_prefix()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("model") / "classifier.tflite"))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", EMULATED)
def test_every_emulated_environment_builds(name: str, protocol: str, model: Prepared, tmp_path: Path) -> None:
    """Run PlatformIO like a new user: without settings, with an empty home folder, without a network."""
    project = tmp_path / "project"
    generate_project(model, load_board(name), project, BuildOptions("balanced", protocol=protocol))
    closed_port = (
        "http://127.0.0.1:9"  # if namespaces are not allowed, use a proxy address that does not answer
    )
    proxies = dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), closed_port
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PLATFORMIO")}
    home = tmp_path / "home"
    home.mkdir()
    result = subprocess.run(
        [*OFFLINE_PREFIX, sys.executable, "-m", "platformio", "run", "--project-dir", str(project)],
        env={**environment, **proxies, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    elf = project / ".pio/build" / name / "firmware.elf"
    assert elf.read_bytes() == direct_build(project).read_bytes()
    assert not (home / ".platformio/platforms").exists()


def test_all_kinds_of_cores_are_emulated() -> None:
    cores = {load_board(name).core for name in EMULATED}
    assert len(EMULATED) >= 9 and {"cortex-m0", "cortex-m55", "rv32imc", "xtensa-lx106"} <= cores


@pytest.mark.skipif(not OFFLINE_PREFIX, reason="needs network namespaces")
def test_the_namespace_has_no_network() -> None:
    """In the network namespace, not even this computer can be reached, so a build there can use no network."""
    program = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 9)))"
    result = subprocess.run([*OFFLINE_PREFIX, sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "101"  # ENETUNREACH: the loopback device is down too
