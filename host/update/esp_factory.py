"""Sign the firmware that ESP-IDF has built, and make the content of the flash of a new device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.firmware.espidf.partitions import TABLE_OFFSET
from arenite.firmware.espidf.update_partitions import FIRMWARE, MODEL, partition_table, update_partitions
from arenite.firmware.generator.output_folder import MANIFEST
from arenite.firmware.update.esp_project import FIRMWARE_HEADER_BYTES, MODEL_IMAGE
from arenite.firmware.update.program import PROTOCOL
from arenite.host.flash.esp_layout import BOOTLOADER_ADDRESS, IMAGE_MAGIC, chip_of
from arenite.host.update.image_file import read_image
from arenite.host.update.signed_image import ImageProperties, sign_image, verify_image
from arenite.input_files import parse_json, read_bytes, read_text
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board

#: Where ESP-IDF puts what it builds.
_APPLICATION, _BOOTLOADER = "build/firmware.bin", "build/bootloader/bootloader.bin"
_TABLE = "build/partition_table/partition-table.bin"
_MAX_BYTES = 64 * 2**20
_ERASED = b"\xff"


@dataclass(frozen=True)
class Factory:
    """The signed firmware, and the content of the whole flash: boot loader, partition table, firmware and model."""

    board: Board
    firmware: bytes
    flash: bytes
    abi: bytes


def make_factory(
    project: Path, key: Path, version: str, counter: int = 0, *, allow_test_key: bool = False
) -> Factory:
    """Sign the firmware of ``project``, which ``arenite update build`` wrote and ESP-IDF built.

    ``key`` is the PEM file of the private key whose public key is in the project. Version and security counter are
    those of the firmware.

    Raises:
        UsageError: The folder is no such project, was not built, or was built with another partition table; or the key
            is another one.
        DoesNotFitError: The firmware is larger than its partition.
        ToolError: imgtool failed.
    """
    board, abi = _read_manifest(project)
    table = update_partitions(board)
    places = {p.name: p for p in table}
    application = _read(project / _APPLICATION)
    if application[0] != IMAGE_MAGIC:
        raise UsageError(
            f"{project / _APPLICATION} is no application of ESP-IDF.", "Build it with `idf.py build`."
        )
    boot_loader, content = _read(project / _BOOTLOADER), partition_table(table)
    if _read(project / _TABLE)[: len(content)] != content:
        raise UsageError(
            f"{project / _TABLE} is another partition table than that of {board.name}.",
            "Remove the folder build and the file sdkconfig, and build with `idf.py build`.",
        )
    model = read_image(project / MODEL_IMAGE)
    if model.kind != "model" or model.abi != abi or model.board != board.name:
        raise UsageError(
            f"{model.path} is not the model of this project.",
            "Run `arenite update build` for the folder again.",
        )
    verify_image(model.path, key)
    firmware = sign_image(
        application,
        ImageProperties(version, counter, board.name, "firmware", abi, FIRMWARE_HEADER_BYTES),
        key,
        places[FIRMWARE[0]].size,
        allow_test_key=allow_test_key,
    )
    slot = places[FIRMWARE[0]]
    assert board.espressif is not None
    flash = bytearray(_ERASED * board.espressif.flash_size)
    for offset, data in (
        (BOOTLOADER_ADDRESS.get(chip_of(board), 0), boot_loader),
        (TABLE_OFFSET, content),
        # The application is at the start of its partition, and the header of its image in the last page.
        (slot.offset, firmware[FIRMWARE_HEADER_BYTES:]),
        (slot.offset + slot.size - FIRMWARE_HEADER_BYTES, firmware[:FIRMWARE_HEADER_BYTES]),
        (places[MODEL[0]].offset, model.data),
    ):
        flash[offset : offset + len(data)] = data
    return Factory(board, firmware, bytes(flash), abi)


def _read_manifest(project: Path) -> tuple[Board, bytes]:
    """Return the board and the ABI of a project. Raises ``UsageError`` if it is none of ``arenite update build``."""
    hint = "Give the folder that `arenite update build` wrote for an ESP32."
    path = project / MANIFEST
    try:
        manifest = parse_json(read_text(path))
    except (OSError, UsageError, ValueError) as error:
        raise UsageError(f"{project} is no project of Arenite: cannot read {MANIFEST}.", hint) from error
    fields = manifest if isinstance(manifest, dict) else {}
    if fields.get("protocol") != PROTOCOL or not isinstance(fields.get("abi"), str):
        raise UsageError(f"{project} is no project with updates for an ESP32.", hint)
    try:
        return load_board(str(fields.get("board"))), bytes.fromhex(fields["abi"])
    except ValueError as error:
        raise UsageError(f"{path} is damaged: its ABI is not hexadecimal.", hint) from error


def _read(path: Path) -> bytes:
    """Return the content of a file that ESP-IDF makes. Raises ``UsageError`` if it is missing or empty."""
    if not path.is_file():
        raise UsageError(f"There is no {path}.", "Build the project with `idf.py build`, in its folder.")
    data = read_bytes(path, _MAX_BYTES)
    if not data:
        raise UsageError(f"{path} is empty.", "Build the project again with `idf.py build`.")
    return data
