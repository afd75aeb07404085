"""`arenite update loader` and `emulate`: from a key to a device that takes an update, as the docs tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.schemas import problems
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.cli.conftest import Arenite
from tests.host.cli.emulated_device import emulated, skip_without_tools
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained

pytestmark = [pytest.mark.qemu, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]
BOARD = "qemu_mps2_an386"


@pytest.mark.slow
@pytest.mark.parametrize("key_type", ["ed25519", "ecdsa-p256"])
def test_a_device_takes_a_model_and_keeps_it_while_it_is_off(
    arenite: Arenite, tmp_path: Path, key_type: str
) -> None:
    skip_without_tools(key_type)
    pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
    key, public, flash = tmp_path / "k.pem", tmp_path / "k.public.pem", tmp_path / "flash.bin"
    firmware, new = tmp_path / "device.bin", tmp_path / "new.bin"
    arenite("update", "keygen", key, "--type", key_type)
    build = ("--board", BOARD, "--key", key)
    old_model, new_model = (
        save(model, tmp_path / f"{name}.tflite")
        for name, model in (("old", classifier()), ("new", retrained(classifier(), 4)))
    )
    assert arenite("update", "build", old_model, *build, "--version", "1.0.0", "-o", firmware).code == 0
    arenite("update", "build", new_model, *build, "--version", "1.1.0", "--model-only", "-o", new)
    device = (flash, "--board", BOARD, "--key", public)
    with emulated(*device, "--new", firmware, tmp_path / "device.model.bin") as running:
        assert not problems(running)
        assert arenite("update", "push", new, running["port"], "--json").json["outcome"] == "confirmed"
    with emulated(*device) as running:
        status = arenite("update", "status", running["port"], "--json").json
    in_use = {(i["kind"], i["version"]) for i in status["images"] if i["slot"] == 0}
    assert in_use == {("firmware", "1.0.0"), ("model", "1.1.0")}


def test_a_loader_is_written(arenite: Arenite, tmp_path: Path) -> None:
    skip_without_tools("ed25519")
    key, elf = tmp_path / "k.pem", tmp_path / "loader.elf"
    arenite("update", "keygen", key)
    written = arenite("update", "loader", "--board", BOARD, "--key", key, "-o", elf, "--json").json
    assert not problems(written)
    assert written["bytes"] == (tmp_path / "loader.bin").stat().st_size > 10_000
    assert elf.read_bytes()[:4] == b"\x7fELF"


def test_mistakes_are_told(arenite: Arenite, tmp_path: Path) -> None:
    key, test_key, flash = tmp_path / "k.pem", tmp_path / "test.pem", tmp_path / "flash.bin"
    arenite("update", "keygen", key)
    arenite("update", "keygen", "--test", test_key)
    board = ("--board", BOARD)
    loader = ("update", "loader", "-o", tmp_path / "loader.elf")
    arenite(*loader, *board, "--key", test_key).refused(2, "test key of Arenite")
    arenite(*loader, *board, "--key", tmp_path / "none.pem").refused(2, "none.pem")
    arenite(*loader, "--board", "nucleo_l4r5zi", "--key", key).refused(2, "no boot loader")
    arenite(*loader[:3], tmp_path / "loader.bin", *board, "--key", key).refused(2, "beside the ELF")
    emulate = ("update", "emulate", flash, *board, "--key", key)
    arenite(*emulate).refused(2, "--new FIRMWARE MODEL")
    arenite(*emulate, "--new", key, key).refused(2, "k.pem")
    real = ("update", "emulate", flash, "--board", "nrf52840_dk", "--key", key)
    arenite(*real).refused(2, "nrf52840_dk is a real board")
    images = []
    for kind in ("firmware", "model"):
        payload = tmp_path / f"{kind}.payload"
        payload.write_bytes(bytes(100))
        image = tmp_path / f"{kind}.bin"
        sign = (
            "--key",
            key,
            "--board",
            "nrf52840_dk",
            "--version",
            "1.0.0",
            "--kind",
            kind,
            "--abi",
            "00" * 32,
        )
        arenite("update", "sign", payload, *sign, "-o", image)
        images.append(image)
    arenite(*emulate, "--new", *reversed(images)).refused(2, "expected a firmware")
    arenite(*emulate, "--new", *images).refused(2, "was made for nrf52840_dk")
    flash.write_bytes(b"mine")
    arenite(*emulate, "--new", *images).refused(2, "no file is overwritten")
    assert flash.read_bytes() == b"mine"
    model = save(classifier(), tmp_path / "model.tflite")
    build = ("update", "build", model, *board, "--version", "1.0.0", "-o", tmp_path / "out.bin")
    arenite(*build, "--key", test_key).refused(2, "--allow-test-key")
    assert not (tmp_path / "out.bin").exists()
