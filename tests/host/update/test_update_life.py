"""An emulated board with the boot loader installs images of `arenite update build`, and returns to the old ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.update.signed_image import ImageProperties, sign_image
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.firmware.update.smp_device import run_smpmgr
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained, with_another_bias, with_wrong_weight
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
]
#: The TLV with the SHA-256 of an image, by which clients name it: type, a zero, length.
_HASH_TLV = b"\x10\x00\x20\x00"


def image_hash(image: bytes) -> bytes:
    at = image.rindex(_HASH_TLV) + len(_HASH_TLV)
    return image[at : at + 32]


@pytest.mark.parametrize("board_name", ["qemu_mps2_an386", "qemu_microbit"])
def test_a_model_is_updated_alone_and_a_wrong_one_is_put_back(tmp_path: Path, board_name: str) -> None:
    from arenite.host.update.keys import generate_key, read_public_key

    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    board, key = load_board(board_name), tmp_path / "release.pem"
    generate_key(key)
    layout = update_layout(board)
    models = (classifier(), retrained(classifier(), 4))
    old, new, other = (
        build_update(save(model, tmp_path / f"model{k}.tflite"), board, UpdateOptions(key, f"1.0.{k}", k))
        for k, model in enumerate((*models, with_another_bias(models[1])), 1)
    )
    assert old.firmware is not None and old.abi == new.abi
    # The same model with one wrong byte, which someone signed.
    payloads = [
        image[layout.model_header_bytes :][: int.from_bytes(image[12:16], "little")]
        for image in (new.model, other.model)
    ]
    wrong_properties = ImageProperties(
        *("1.0.9", 2, board.name, "model", new.abi), layout.model_header_bytes, layout.model[0].origin
    )
    wrong = sign_image(with_wrong_weight(*payloads), wrong_properties, key, layout.model[0].size)

    loader = build_loader(board, read_public_key(key), tmp_path / "loader")
    flash = tmp_path / "flash.bin"
    new_flash(board, flash, old.firmware, old.model)
    with flash.open("r+b") as file:  # an upload through the emulated port takes long
        file.seek(layout.model[1].origin - layout.state.origin)
        file.write(wrong)
    with start_updatable(board, loader.elf, flash, icount=False) as emulator:
        device, port = SlotBoard(emulator.machine.transport), emulator.machine.port
        assert "\nupdate none\n" in device.read_until("self-test 3 samples passed")
        states = run_smpmgr(port, "image", "state-read")
        assert "version='1.0.1'" in states and "version='1.0.9'" in states
        run_smpmgr(port, "image", "state-write", image_hash(wrong).hex())
        emulator.reset()
        report = device.read_until("self-test failed")
        assert "\nupdate on trial\n" in report
        assert "\nupdate returned, reason 1" in device.read_until("self-test 3 samples passed")
        emulator.cut()
    with flash.open("r+b") as file:
        file.seek(layout.model[1].origin - layout.state.origin)
        file.write(b"\xff" * layout.model[1].size)
        file.seek(layout.model[1].origin - layout.state.origin)
        file.write(new.model)
    with start_updatable(board, loader.elf, flash, icount=False) as emulator:
        device, port = SlotBoard(emulator.machine.transport), emulator.machine.port
        device.read_until("self-test 3 samples passed")
        run_smpmgr(port, "image", "state-write", image_hash(new.model).hex())
        emulator.reset()
        assert "\nupdate on trial\n" in device.read_until("self-test 3 samples passed")
        device.send("status")
        assert "\nupdate confirmed\n" in device.read_until("self-test 3 samples passed")
        assert "version='1.0.2'" in run_smpmgr(port, "image", "state-read")


def test_firmware_runs_without_updates_if_its_loader_has_no_functions_for_it(tmp_path: Path) -> None:
    from arenite.host.update.keys import generate_key, read_public_key

    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ecdsa-p256")
    board, key = load_board("qemu_mps2_an386"), tmp_path / "release.pem"
    generate_key(key, "ecdsa-p256")
    built = build_update(save(classifier(), tmp_path / "model.tflite"), board, UpdateOptions(key, "1.0.0", 1))
    assert built.firmware is not None
    loader = build_loader(board, read_public_key(key), tmp_path / "loader").elf
    magic = (0x4C464E31).to_bytes(4, "little")
    data = loader.read_bytes()
    assert data.count(magic) == 1
    loader.write_bytes(data.replace(magic, bytes(4)))
    new_flash(board, tmp_path / "flash.bin", built.firmware, built.model)
    with start_updatable(board, loader, tmp_path / "flash.bin", icount=False) as emulator:
        report = SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")
    assert "\nupdate impossible: the boot loader is another one\n" in report
