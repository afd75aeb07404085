"""The program of ``arenite update build`` for an ESP32 installs models and firmware, and returns to the old ones.

It runs on QEMU's RISC-V machine with a model of ESP-IDF (``tests/firmware/update/esp32``). What ESP-IDF builds is
replaced by a few bytes: the machine always runs the same code, whatever application the modelled boot loader starts.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.firmware.update.esp_project import FIRMWARE_HEADER_BYTES, MODEL_HEADER_BYTES
from arenite.host.update.signed_image import ImageProperties, sign_image
from arenite.profiles.boards import load_board
from tests.firmware.update.esp32.esp_board import BOARD, build, idf_build, run
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained, with_another_bias, with_wrong_weight
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
]
__all__ = ["arenite"]


def model_line(report: str) -> str:
    return next(line for line in report.splitlines() if line.startswith("model "))


def payload(image: bytes) -> bytes:
    return image[MODEL_HEADER_BYTES:][: int.from_bytes(image[12:16], "little")]


def test_an_esp32_updates_model_and_firmware_and_returns_to_the_old_ones(
    arenite: Arenite, tmp_path: Path
) -> None:
    for tool in ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    key, project, board = tmp_path / "release.pem", tmp_path / "project", load_board(BOARD)
    assert arenite("update", "keygen", key).code == 0
    models = (classifier(), retrained(classifier(), 4))
    files = [
        save(model, tmp_path / f"model{k}.tflite")
        for k, model in enumerate((*models, with_another_bias(models[1])))
    ]

    def build_update(model: Path, version: str, output: Path, *options: str) -> str:
        arguments = (
            "--board",
            BOARD,
            "--key",
            key,
            "--version",
            version,
            "-o",
            output,
            "--optimise",
            "flash",
        )
        return str(arenite("update", "build", model, *arguments, *options, "--json").json["abi"])

    abi = build_update(files[0], "1.0.0", project)
    new, other, wrong = (tmp_path / f"{name}.bin" for name in ("new", "other", "wrong"))
    assert build_update(files[1], "1.1.0", new, "--model-only") == abi
    assert build_update(files[2], "1.2.0", other, "--model-only") == abi
    # The same model with one wrong byte, which someone signed.
    properties = ImageProperties("1.9.0", 0, board.name, "model", bytes.fromhex(abi), MODEL_HEADER_BYTES)
    content = with_wrong_weight(payload(new.read_bytes()), payload(other.read_bytes()))
    wrong.write_bytes(sign_image(content, properties, key, 1 << 19))

    idf_build(project, b"\xe9" + b"first application " * 400)
    made = arenite(
        *(
            "update",
            "factory",
            project,
            "--key",
            key,
            "--version",
            "1.0.0",
            "-o",
            tmp_path / "a.bin",
            "--json",
        )
    ).json
    flash = (tmp_path / "a.bin").read_bytes()
    assert made["abi"] == abi and len(flash) == 4 << 20
    idf_build(project, b"\xe9" + b"second application " * 500)
    for version, name in (("2.0.0", "b"), ("3.0.0", "c")):
        arguments = ("--key", key, "--version", version, "-o", tmp_path / f"{name}.bin", "--json")
        assert arenite("update", "factory", project, *arguments).json
    # A firmware with our signature that ESP-IDF does not start.
    firmware = ImageProperties("9.0.0", 0, board.name, "firmware", bytes.fromhex(abi), FIRMWARE_HEADER_BYTES)
    foreign = tmp_path / "foreign.bin"
    foreign.write_bytes(sign_image(b"no application", firmware, key, 1 << 19))

    (tmp_path / "elf").mkdir()
    with run(build(project, tmp_path / "elf"), flash, tmp_path) as machine:
        device, port = SlotBoard(machine.transport), machine.port
        report = device.read_until("self-test 3 samples passed")
        assert "update none" in report and f"board {BOARD}" in report

        def push(*images: Path) -> str:
            return str(arenite("update", "push", *images, port, "--json").json["outcome"])

        assert push(new) == "confirmed"
        device.send("status")
        assert model_line(device.read_until("self-test 3 samples passed")) != model_line(report)
        assert push(wrong) == "returned"
        assert push(tmp_path / "b.firmware.bin") == "confirmed"
        assert push(foreign) == "returned"
        status = arenite("update", "status", port, "--json").json
        assert "refuses" in status["reason"], status
        assert push(tmp_path / "c.firmware.bin", other) == "confirmed"
        back = arenite("update", "rollback", port, "--json").json
        assert back["outcome"] == "confirmed"
        # Firmware in use, the other firmware, model in use, the other model.
        assert [i["version"] for i in back["images"]] == ["2.0.0", "3.0.0", "1.1.0", "1.2.0"]
