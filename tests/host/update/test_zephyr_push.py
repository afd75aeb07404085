"""`arenite update build` for Zephyr; `push`, `status` and `rollback` with a device that has only Zephyr's mcumgr."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.update.image_file import read_image
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import classifier, save
from tests.host.update.zephyr_device import ZephyrDevice, image_hash

pytest.importorskip("cbor2", reason="needs cbor2: pip install 'arenite[update]'")
pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
__all__ = ["arenite"]


def build(arenite: Arenite, folder: Path, version: str, key_type: str = "ed25519") -> Path:
    """Write an application into ``folder / version``. Return its folder."""
    key, model = folder / "release.pem", folder / "model.tflite"
    if not key.exists():
        assert arenite("update", "keygen", key, "--type", key_type).code == 0
        save(classifier(), model)
    options = (
        "--board",
        "nrf5340dk",
        "--key",
        key,
        "--version",
        version,
        "--optimise",
        "flash",
    )
    made = arenite("update", "build", model, *options, "-o", folder / version, "--json").json
    assert made["firmware_image"] == f"{folder / version}-build/{version}/zephyr/zephyr.signed.bin"
    return folder / version


def setting(path: Path, name: str) -> str:
    """Return the text of a setting in one of the files of Zephyr."""
    found = re.search(rf'^{name}="(.*)"$', path.read_text(), re.MULTILINE)
    assert found is not None, name
    return found[1]


def sign(project: Path, payload: bytes) -> Path:
    """Sign ``payload`` as Zephyr's cmake/mcuboot.cmake does, with the settings of the project."""
    source, target = project.parent / "payload.bin", project.parent / f"{project.name}.signed.bin"
    source.write_bytes(bytes(0x200) + payload)
    key = setting(project / "sysbuild.conf", "SB_CONFIG_BOOT_SIGNATURE_KEY_FILE")
    arguments = ["--version", setting(project / "prj.conf", "CONFIG_MCUBOOT_IMGTOOL_SIGN_VERSION")]
    arguments += ["--header-size", "0x200", "--slot-size", str(256 * 1024), "--align", "4", "--key", key]
    arguments += shlex.split(setting(project / "prj.conf", "CONFIG_MCUBOOT_EXTRA_IMGTOOL_ARGS"))
    command = [sys.executable, "-m", "imgtool.main", "sign", *arguments, str(source), str(target)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return target


@pytest.fixture
def images(arenite: Arenite, tmp_path: Path) -> tuple[Path, Path]:
    """Two signed images of an nRF5340 DK."""
    old, new = (build(arenite, tmp_path, version) for version in ("1.0.0", "1.1.0"))
    return sign(old, bytes(range(256)) * 8), sign(new, bytes(range(255, -1, -1)) * 40)


@pytest.mark.parametrize(("key_type", "name"), [("ed25519", "ED25519"), ("ecdsa-p256", "ECDSA_P256")])
def test_imgtool_takes_key_and_settings(arenite: Arenite, tmp_path: Path, key_type: str, name: str) -> None:
    project = build(arenite, tmp_path, "1.2.3+4", key_type)
    assert f"SB_CONFIG_BOOT_SIGNATURE_TYPE_{name}=y\n" in (project / "sysbuild.conf").read_text()
    signed = sign(project, b"firmware" * 100)
    image = read_image(signed)
    assert (image.board, image.kind, image.version, image.counter) == ("nrf5340dk", "firmware", "1.2.3+4", 0)
    assert arenite("update", "verify", signed, "--key", tmp_path / "release.public.pem").code == 0
    manifest = json.loads((project / "arenite.json").read_text())
    assert manifest["files"] == sorted(
        path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()
    )
    assert not list(project.rglob("*.pem"))


def test_a_new_image_is_pushed_and_rolled_back(arenite: Arenite, images: tuple[Path, Path]) -> None:
    old, new = (path.read_bytes() for path in images)
    with ZephyrDevice(old) as device:
        before = arenite("update", "status", device.port, "--json").json
        assert (before["board"], before["phase"], before["outcome"]) == ("nrf5340dk", "steady", "unknown")
        pushed = arenite("update", "push", images[1], device.port, "--json").json
        assert (pushed["outcome"], device.resets) == ("confirmed", 1)
        assert device.slots == [new, old]
        assert (
            "firmware 1.1.0" in arenite("update", "push", images[1], device.port).out and device.resets == 1
        )
        shown = arenite("update", "status", device.port).out
        assert "1.1.0, in use" in shown and "1.0.0, not in use" in shown
        assert arenite("update", "rollback", device.port, "--json").json["outcome"] == "confirmed"
        assert device.slots == [old, new] and 64 in device.groups


def test_an_image_that_fails_its_test_is_returned(arenite: Arenite, images: tuple[Path, Path]) -> None:
    with ZephyrDevice(images[0].read_bytes(), passes=False) as device:
        run = arenite("update", "push", images[1], device.port)
        assert run.code == 1 and "failed its self-test" in run.out
        assert device.slots[0] == images[0].read_bytes()


def test_other_boards_and_models_are_refused(
    arenite: Arenite, images: tuple[Path, Path], tmp_path: Path
) -> None:
    with ZephyrDevice(images[0].read_bytes(), board="frdm_k64f") as device:
        arenite("update", "push", images[1], device.port).refused(1, "nrf5340dk", "frdm_k64f")
        assert device.slots[1] is None
    payload, model = tmp_path / "model.bin", tmp_path / "model.signed.bin"
    payload.write_bytes(bytes(100))
    options: tuple[str, ...] = (
        "--board",
        "nrf5340dk",
        "--kind",
        "model",
        "--abi",
        "00" * 32,
        "--slot-bytes",
        "65536",
    )
    options += ("--key", str(tmp_path / "release.pem"), "--version", "1.0.0")
    assert arenite("update", "sign", payload, *options, "-o", model).code == 0
    with ZephyrDevice(images[0].read_bytes()) as device:
        arenite("update", "push", model, device.port).refused(1, "no slot for a model")


def test_a_device_that_does_not_tell_its_board_takes_the_image(
    arenite: Arenite, images: tuple[Path, Path]
) -> None:
    with ZephyrDevice(images[0].read_bytes(), board=None) as device:
        assert arenite("update", "push", images[1], device.port).code == 0
        assert device.slots[0] == images[1].read_bytes()


def test_options_of_other_boot_loaders_are_refused(arenite: Arenite, tmp_path: Path) -> None:
    build(arenite, tmp_path, "1.0.0")
    common = (
        "update",
        "build",
        tmp_path / "model.tflite",
        "--key",
        tmp_path / "release.pem",
        "--version",
        "1.0.0",
    )
    for options in (("--model-only",), ("--counter", "1"), ("--agent",)):
        run = arenite(*common, "--board", "nrf5340dk", "-o", tmp_path / "x", *options)
        run.refused(2, f"{options[0]} is not for nrf5340dk")
    arenite(*common, "--board", "frdm_kl25z", "-o", tmp_path / "x").refused(2, "no partitions", "frdm_k64f")
    assert not (tmp_path / "x").exists()


def test_an_independent_client_updates_the_stand_in(images: tuple[Path, Path]) -> None:
    """The device of these tests is one for smpmgr too, a client that was written for Zephyr."""
    pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")
    from tests.firmware.update.smp_device import run_smpmgr

    new = images[1].read_bytes()
    with ZephyrDevice(images[0].read_bytes()) as device:
        run_smpmgr(device.port, "image", "upload", str(images[1]))
        assert device.slots[1] == new
        run_smpmgr(device.port, "image", "state-write", image_hash(new).hex())
        run_smpmgr(device.port, "os", "reset")
        assert device.slots[0] == new
