"""Make and verify update images in MCUboot's format. MCUboot's own tool, imgtool, does the work."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Literal

from arenite.errors import AreniteError, DoesNotFitError, ToolError, UsageError
from arenite.host.update.keys import (
    INSTALL,
    MAX_SIGNATURE_BYTES,
    key_type_of,
    read_public_key,
    require_signing_key,
)

#: Types of TLVs (firmware/update/image.h).
TLV_BOARD, TLV_ABI, TLV_KIND = 0x00A0, 0x00A1, 0x00A2
#: The TLV of the calibration record of a model, JSON. Devices ignore it; the server of a fleet reads it.
TLV_RECORD = 0x00A3
#: The values of the TLV with the kind.
KINDS = {"firmware": 1, "model": 2}
#: The longest name of a board, in bytes of UTF-8.
MAX_BOARD_BYTES = 64
ABI_BYTES = 32
#: The longest calibration record. Two histograms of 16 counts and one of 64 take less than 1,400 bytes.
MAX_RECORD_BYTES = 4096
MIN_HEADER_BYTES = 32
#: Lengths of the areas with TLVs, without the TLV of the board. An area has 4 bytes more than its TLVs, and a TLV 4
#: bytes more than its value.
_PROTECTED_BYTES, _ABI_TLV_BYTES, _UNPROTECTED_BYTES = 4 + 8 + 5, 4 + ABI_BYTES, 4 + 36 + 36 + 4
#: Bytes that imgtool reserves at the end of a slot for MCUboot's swap. The devices keep their state elsewhere.
_MCUBOOT_TRAILER_BYTES = 1024
_TIMEOUT_S = 300
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\+(\d+))?")


class ImageNotValidError(AreniteError):
    """The hash or the signature of an image is wrong."""

    exit_code = 1


@dataclass(frozen=True)
class ImageProperties:
    """What an update image says about itself. All of it is signed."""

    version: str  # major.minor.revision or major.minor.revision+build, such as 1.2.3+4
    counter: int  # security counter; a device refuses images with a lower one than it has seen
    board: str  # name of the board's profile
    kind: Literal["firmware", "model"]
    abi: bytes | None = None  # hash of graph, arena and kernels, 32 bytes; a model must have it
    header_bytes: int = MIN_HEADER_BYTES  # offset of the payload, which firmware may need aligned
    address: int | None = None  # of the slot for which a firmware was linked; None: it may be in any slot
    record: bytes | None = None  # calibration record of a model (``calibration_record.py``)

    def __post_init__(self) -> None:
        match = _VERSION.fullmatch(self.version)
        limits = (255, 255, 65535, 2**32 - 1)
        if match is None or any(int(n) > limit for n, limit in zip(match.groups("0"), limits, strict=True)):
            raise UsageError(
                f"The version '{self.version}' has not the form major.minor.revision+build with numbers up to "
                "255, 255, 65535 and 4294967295.",
                "Give a version such as 1.2.3+4.",
            )
        _check_range("security counter", self.counter, 0, 2**32 - 1)
        _check_range("header size", self.header_bytes, MIN_HEADER_BYTES, 65535)
        if self.address is not None:
            _check_range("address", self.address, 1, 2**32 - 1)
        board = self.board.encode()
        if not 1 <= len(board) <= MAX_BOARD_BYTES or b"\0" in board:
            raise UsageError(
                f"The name of the board '{self.board}' has {len(board)} bytes, expected 1 to {MAX_BOARD_BYTES} "
                "without a zero.",
                "Give the name of a board that `arenite boards` lists.",
            )
        if self.kind not in KINDS:
            raise UsageError(f"The kind of the image is '{self.kind}'.", "Give firmware or model.")
        if self.abi is None and self.kind == "model":
            raise UsageError(
                "A model without the hash of graph, arena and kernels cannot be bound to a firmware.",
                "Give the hash of the firmware's model.",
            )
        if self.abi is not None and len(self.abi) != ABI_BYTES:
            raise UsageError(
                f"The hash of graph, arena and kernels has {len(self.abi)} bytes, expected {ABI_BYTES}.",
                "Give a SHA-256 hash.",
            )

        if self.record is not None and self.kind != "model":
            raise UsageError("A firmware has no calibration record.", "Put it into the image of the model.")
        if self.record is not None and not 1 <= len(self.record) <= MAX_RECORD_BYTES:
            raise UsageError(
                f"The calibration record has {len(self.record):,} bytes, expected 1 to {MAX_RECORD_BYTES:,}.",
                "Make it with `arenite fleet reference`.",
            )

    def image_bytes(self, payload_bytes: int, key_type: str = "ed25519") -> int:
        """Return the length of the signed image of a payload of ``payload_bytes`` bytes: with an Ed25519 key the exact
        one, and the greatest one with a P-256 key, whose signatures differ in length."""
        abi_bytes = 0 if self.abi is None else _ABI_TLV_BYTES
        record_bytes = 0 if self.record is None else 4 + len(self.record)
        protected_bytes = _PROTECTED_BYTES + 4 + len(self.board.encode()) + abi_bytes + record_bytes
        unprotected_bytes = _UNPROTECTED_BYTES + MAX_SIGNATURE_BYTES[key_type]
        return self.header_bytes + payload_bytes + protected_bytes + unprotected_bytes


def sign_image(
    payload: bytes, properties: ImageProperties, key: Path, slot_bytes: int, *, allow_test_key: bool = False
) -> bytes:
    """Return the signed update image of ``payload``, which fits into a slot of ``slot_bytes`` bytes.

    ``key`` is the PEM file of a private Ed25519 or P-256 key.

    Raises:
        UsageError: The payload is empty, the key is not such a key or a published test key, or imgtool is not
            installed.
        DoesNotFitError: The image is longer than the slot.
        ToolError: imgtool failed.
    """
    require_signing_key(key, allow_test_key=allow_test_key)
    if not payload:
        raise UsageError("The payload of the image is empty.", "Give the file of a firmware or a model.")
    excess = properties.image_bytes(len(payload), key_type_of(read_public_key(key))) - slot_bytes
    if excess > 0:
        raise DoesNotFitError(
            f"The image has {excess} bytes more than its slot of {slot_bytes} bytes.",
            "Use a smaller model, or a board with more flash memory.",
        )
    values = {TLV_BOARD: properties.board.encode(), TLV_KIND: bytes([KINDS[properties.kind]])}
    if properties.abi is not None:
        values[TLV_ABI] = properties.abi
    if properties.record is not None:
        values[TLV_RECORD] = properties.record
    with tempfile.TemporaryDirectory(prefix="arenite-update-") as name:
        folder = Path(name)
        source, target = folder / "payload.bin", folder / "image.bin"
        source.write_bytes(payload)
        options = [f"--key={key}", f"--version={properties.version}", "--overwrite-only", "--align=1"]
        options += [f"--security-counter={properties.counter}", f"--header-size={properties.header_bytes}"]
        options += ["--pad-header", f"--slot-size={slot_bytes + _MCUBOOT_TRAILER_BYTES}"]
        if properties.address is not None:
            options.append(f"--rom-fixed={properties.address}")
        for number, value in values.items():
            file = folder / f"{number:04x}.bin"
            file.write_bytes(value)
            options += ["--custom-tlv-file", f"0x{number:04x}", str(file)]
        _imgtool("sign", *options, str(source), str(target))
        return target.read_bytes()


def verify_image(image: Path, key: Path) -> None:
    """Check the hash and the signature of the file ``image`` with imgtool. ``key`` has a public or a private key.

    Raises:
        UsageError: The image cannot be read, the key is no Ed25519 or P-256 key, or imgtool is not installed.
        ImageNotValidError: The image is damaged, or was signed with another key.
        ToolError: imgtool did not end.
    """
    read_public_key(key)
    if not image.is_file():
        raise UsageError(f"There is no image {image}.", "Give the path of a signed image.")
    if problem := _run_imgtool("verify", f"--key={key}", str(image)):
        raise ImageNotValidError(
            f"{image} is not valid: {problem}.", "Check that the image is whole, and that the key is its own."
        )


def _imgtool(*arguments: str) -> None:
    """Run imgtool. Raises ``UsageError`` or ``ToolError``."""
    if problem := _run_imgtool(*arguments):
        raise ToolError(
            f"imgtool {arguments[0]} failed: {problem}.", "Check the image, its key and its slot."
        )


def _run_imgtool(*arguments: str) -> str:
    """Run imgtool in a process of its own, because it prints to standard output. Return what it says if it fails, and
    an empty text if it does not. Raises ``UsageError`` or ``ToolError``."""
    if util.find_spec("imgtool") is None:
        raise UsageError("Update images need MCUboot's imgtool.", INSTALL)
    command = [sys.executable, "-m", "imgtool.main", *arguments]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"imgtool did not end: {error}.", "Try again.") from error
    if result.returncode == 0:
        return ""
    lines = (result.stderr.strip() or result.stdout.strip() or "it printed no message").splitlines()
    return lines[-1].rstrip(".")


def _check_range(name: str, value: int, lowest: int, highest: int) -> None:
    if not lowest <= value <= highest:
        raise UsageError(
            f"The {name} is {value}, expected {lowest} to {highest}.", f"Give a {name} in this range."
        )
