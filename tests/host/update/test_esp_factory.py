"""``arenite update factory`` and ``build`` for an ESP32: the flash of a new device, and what they refuse."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from arenite.firmware.espidf.update_partitions import update_partitions
from arenite.host.update.image_file import read_image
from arenite.profiles.boards import load_board
from tests.firmware.update.esp32.esp_board import idf_build, project_macros
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import classifier, save

pytestmark = [
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("riscv64-unknown-elf-gcc") is None, reason="riscv64-unknown-elf-gcc is not installed"
    ),
]
__all__ = ["arenite"]
BOARD, PAGE = "esp32-c3-devkitm-1", 4096
_APPLICATION = b"\xe9" + bytes(range(251)) * 30


@pytest.fixture
def project(arenite: Arenite, tmp_path: Path) -> Path:
    """A project that was built, with the key ``release.pem`` beside it."""
    library_or_skip("ed25519")
    assert arenite("update", "keygen", tmp_path / "release.pem").code == 0
    model, folder = save(classifier(), tmp_path / "model.tflite"), tmp_path / "project"
    options = (
        "--key",
        tmp_path / "release.pem",
        "--version",
        "1.2.3",
        "--optimise",
        "flash",
        "--counter",
        "5",
    )
    built = arenite("update", "build", model, "--board", BOARD, *options, "-o", folder, "--json").json
    assert built["project"] == str(folder) and built["model_image"] == str(folder / "model.bin")
    idf_build(folder, _APPLICATION)
    return folder


def factory(arenite: Arenite, project: Path, *more: object) -> tuple[object, ...]:
    return (
        *("update", "factory", project, "--key", project.parent / "release.pem", "--version", "1.2.3"),
        *("-o", project.parent / "device.bin", *more),
    )


def test_the_flash_has_boot_loader_table_firmware_and_model(
    arenite: Arenite, project: Path, tmp_path: Path
) -> None:
    made = arenite(*factory(arenite, project, "--counter", "7", "--json")).json
    flash, firmware = Path(made["flash"]).read_bytes(), Path(made["firmware_image"])
    places = {p.name: p for p in update_partitions(load_board(BOARD))}
    slot, image = places["ota_0"], firmware.read_bytes()
    assert flash[: len(b"\xe9 boot loader")] == b"\xe9 boot loader"
    assert flash[0x8000:0x8C00] == (project / "partitions.bin").read_bytes()
    # ESP-IDF finds the application at the start of its partition; the header is in the last page.
    assert flash[slot.offset : slot.offset + len(_APPLICATION)] == _APPLICATION
    last = slot.offset + slot.size - PAGE
    assert flash[last : last + PAGE] + flash[slot.offset :][: len(image) - PAGE] == image
    model = (project / "model.bin").read_bytes()
    assert flash[places["model_0"].offset :][: len(model)] == model
    for name in ("nvs", "otadata", "ota_1", "model_1", "update"):
        p = places[name]
        assert set(flash[p.offset : p.offset + p.size]) == {0xFF}, name
    read = read_image(firmware)
    assert (read.kind, read.counter, read.board) == ("firmware", 7, BOARD)
    assert read.abi == read_image(project / "model.bin").abi == bytes.fromhex(made["abi"])
    key = project.parent / "release.public.pem"
    assert arenite("update", "verify", firmware, "--key", key).code == 0
    assert made["command"].startswith("esptool --chip esp32c3 write-flash 0 ")


@pytest.mark.skipif(util.find_spec("esptool") is None, reason="esptool is not installed")
def test_esptool_merges_the_parts_to_the_same_flash(arenite: Arenite, project: Path, tmp_path: Path) -> None:
    made = arenite(*factory(arenite, project, "--json")).json
    image, slot = Path(made["firmware_image"]).read_bytes(), update_partitions(load_board(BOARD))[2]
    model = update_partitions(load_board(BOARD))[4]
    (tmp_path / "header").write_bytes(image[:PAGE])
    (tmp_path / "application").write_bytes(image[PAGE:])
    parts = {
        0: project / "build/bootloader/bootloader.bin",
        0x8000: project / "build/partition_table/partition-table.bin",
        slot.offset: tmp_path / "application",
        slot.offset + slot.size - PAGE: tmp_path / "header",
        model.offset: project / "model.bin",
    }
    command = [
        sys.executable,
        "-m",
        "esptool",
        "--chip",
        "esp32c3",
        "merge-bin",
        "-o",
        str(tmp_path / "merged"),
    ]
    command += ["--pad-to-size", "4MB", *(str(item) for part in parts.items() for item in part)]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "merged").read_bytes() == Path(made["flash"]).read_bytes()


def test_what_the_project_has_and_what_a_second_build_changes(arenite: Arenite, project: Path) -> None:
    manifest = json.loads((project / "arenite.json").read_text())
    for name in manifest["files"]:
        assert (project / name).is_file(), name
    text = (project / "src/CMakeLists.txt").read_text()
    for source in project.rglob("*.c"):
        relative = source.relative_to(project).as_posix()
        assert f'"{relative.removeprefix("src/")}"' in text or f'"../{relative}"' in text, relative
    assert (
        "CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE=y" in (project / "sdkconfig.defaults").read_text().splitlines()
    )
    before = {
        path: hashlib.sha256(path.read_bytes()).digest() for path in project.rglob("*") if path.is_file()
    }
    options = (
        "--key",
        project.parent / "release.pem",
        "--version",
        "1.2.3",
        "--optimise",
        "flash",
        "--counter",
        "5",
    )
    model = project.parent / "model.tflite"
    assert arenite("update", "build", model, "--board", BOARD, *options, "-o", project).code == 0
    assert before == {path: hashlib.sha256(path.read_bytes()).digest() for path in before}


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("no build", "build/firmware.bin"),
        ("empty", "firmware.bin is empty"),
        ("no application", "is no application of ESP-IDF"),
        ("other table", "another partition table"),
        ("other model", "is not the model of this project"),
        ("no manifest", "is no project of Arenite"),
        ("other project", "is no project with updates for an ESP32"),
        ("large", "bytes more than its slot of 1048576 bytes"),
        ("other key", "is not valid"),
    ],
)
def test_what_cannot_be_made_is_refused(arenite: Arenite, project: Path, damage: str, text: str) -> None:
    application, manifest = project / "build/firmware.bin", project / "arenite.json"
    arguments = factory(arenite, project)
    code = 2
    if damage == "no build":
        shutil.rmtree(project / "build")
    elif damage == "empty":
        application.write_bytes(b"")
    elif damage == "no application":
        application.write_bytes(b"\x7fELF")
    elif damage == "large":
        application.write_bytes(b"\xe9" * (1 << 20))
        code = 1
    elif damage == "other table":
        (project / "build/partition_table/partition-table.bin").write_bytes(b"\xff" * 0xC00)
    elif damage == "other model":
        content = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**content, "abi": "00" * 32}))
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "other project":
        manifest.write_text('{"protocol": "arenite"}')
    else:
        key = project.parent / "other.pem"
        assert arenite("update", "keygen", key).code == 0
        arguments = (*arguments, "--key", key)
        code = 1
    arenite(*arguments).refused(code, text)
    assert not (project.parent / "device.bin").exists()


def test_a_build_for_an_esp32_refuses_other_folders(arenite: Arenite, project: Path, tmp_path: Path) -> None:
    model, key = project.parent / "model.tflite", project.parent / "release.pem"
    arguments = ("update", "build", model, "--board", BOARD, "--key", key, "--version", "1.0.0")
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    arenite(*arguments, "-o", other).refused(2, "is not empty and is not an Arenite project")


def test_the_option_agent_puts_the_agent_into_the_project(
    arenite: Arenite, project: Path, tmp_path: Path
) -> None:
    model, key = project.parent / "model.tflite", project.parent / "release.pem"
    arguments = ("update", "build", model, "--board", BOARD, "--key", key, "--version", "1.0.0", "--agent")
    assert arenite(*arguments, "-o", tmp_path / "new").code == 0
    assert "AR_AGENT" in project_macros(tmp_path / "new")
    assert "AR_AGENT" not in project_macros(project)


def test_the_commands_for_other_projects_name_those_for_updates(arenite: Arenite, project: Path) -> None:
    arenite("build", project).refused(2, "which ESP-IDF builds", "arenite update factory")
