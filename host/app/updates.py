"""Applications with updates: what their firmware needs for them, and how their images are signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.firmware.app.update_parts import MANIFEST_ENTRY, UpdateParts
from arenite.firmware.update.golden import golden_source
from arenite.firmware.update.graph_hash import graph_hash
from arenite.host.build.prepare import Prepared
from arenite.host.flash.build import read_manifest
from arenite.host.flash.elf_image import read_program
from arenite.host.update.golden_samples import golden_samples
from arenite.host.update.image_file import read_image
from arenite.host.update.image_pair import SignOptions, sign_pair, slot_regions
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board

#: Where `arenite build` writes the signed images, in the folder of the application.
FIRMWARE, MODEL = "build/firmware.bin", "build/model.bin"


@dataclass(frozen=True)
class AppUpdates:
    """How an application takes updates.

    Attributes:
        key: the PEM file of the private Ed25519 or P-256 key with which the images are signed.
        version: the version of both images.
        counter: the security counter of both images.
        golden: the file with the inputs of the self-test. None: random inputs.
        allow_test_key: sign with the test key, which everybody has.
    """

    key: Path
    version: str
    counter: int = 0
    golden: Path | None = None
    allow_test_key: bool = False

    @property
    def signing(self) -> SignOptions:
        return SignOptions(self.key, self.version, self.counter, self.allow_test_key)

    def parts(self, prepared: Prepared, board: Board) -> UpdateParts:
        """Return what an application of ``prepared`` has for updates.

        Raises ``UsageError`` if ``board`` takes no updates, or if the key, the version, the counter or the samples are
        not valid.
        """
        regions = slot_regions(board, self.signing)
        samples = golden_samples(prepared, self.golden)
        return UpdateParts(
            graph_hash(prepared.source),
            golden_source(samples),
            regions,
            {
                "key": str(self.key.absolute()),
                "version": self.version,
                "counter": self.counter,
                "allow_test_key": self.allow_test_key,
            },
        )


@dataclass(frozen=True)
class AppImages:
    """The signed images of an application, in two files.

    ``has_old_firmware`` tells that the firmware is that of the build before, so that devices with it take the model
    alone; None if there was no build before.
    """

    firmware: Path
    model: Path
    key: Path
    version: str
    abi: bytes
    has_old_firmware: bool | None

    def to_json(self) -> dict[str, Any]:
        """Return the entry ``images`` of schema ``arenite.build/1``."""
        return {
            "firmware": {"image": str(self.firmware), "bytes": self.firmware.stat().st_size},
            "model": {"image": str(self.model), "bytes": self.model.stat().st_size},
            "version": self.version,
            "abi": self.abi.hex(),
        }


def sign_app(directory: Path, elf: Path) -> AppImages | None:
    """Sign the images of the application in ``directory``, whose program is ``elf``, and write their files. Return None
    if it is not an application with updates.

    Raises:
        UsageError: The manifest is damaged, or its key is missing or not valid.
        ToolError: imgtool is missing or failed.
    """
    manifest = read_manifest(directory)
    entry = manifest.get(MANIFEST_ENTRY)
    if entry is None:
        return None
    options, board = recorded_signing(entry, directory), load_board(manifest["board"])
    pair = sign_pair(read_program(elf), board, slot_regions(board, options), options)
    firmware, model = directory / FIRMWARE, directory / MODEL
    old_abi = _abi(firmware)
    firmware.parent.mkdir(exist_ok=True)
    write_atomic(firmware, pair.firmware)
    write_atomic(model, pair.model)
    is_old = None if old_abi is None else old_abi == pair.abi
    return AppImages(firmware, model, options.key, options.version, pair.abi, is_old)


def recorded_signing(entry: Any, directory: Path) -> SignOptions:
    """Return how the manifest says that images are signed."""
    types = {"key": str, "version": str, "counter": int, "allow_test_key": bool}
    if not isinstance(entry, Mapping) or not all(isinstance(entry.get(k), t) for k, t in types.items()):
        raise UsageError(
            f"The manifest of {directory} does not tell how its images are signed.",
            "Write the application again with `arenite app` and --updates.",
        )
    key = Path(entry["key"])
    if not key.is_file():
        raise UsageError(
            f"The key {key}, with which the images of {directory} are signed, does not exist.",
            "Put it back, or write the application again with `arenite app` and --updates KEY.",
        )
    return SignOptions(key, entry["version"], entry["counter"], entry["allow_test_key"])


def _abi(image: Path) -> bytes | None:
    """Return the ABI of an image of an earlier build; None if there is none."""
    try:
        return read_image(image).abi
    except (OSError, UsageError):
        return None
