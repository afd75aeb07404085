"""Sign the images of a firmware and of its model, which were linked as one program for their slots."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.errors import ToolError, UsageError
from arenite.firmware.update.layout import UpdateLayout, update_layout
from arenite.firmware.update.program import payload_regions
from arenite.host.flash.elf_image import Program
from arenite.host.update.keys import key_type_of, read_public_key, require_signing_key
from arenite.host.update.signed_image import ABI_BYTES, ImageProperties, sign_image
from arenite.profiles.board import Board, MemoryRegion

#: The least stack, in bytes: the check of an image takes 1,972 of it on a Cortex-M0 (docs/update-images.md).
MIN_STACK_BYTES = 2560
_ERASED = b"\xff"


@dataclass(frozen=True)
class SignOptions:
    """How both images are signed.

    Attributes:
        key: the PEM file of a private Ed25519 or P-256 key.
        version: the version of both images.
        counter: the security counter of both images.
        allow_test_key: sign with the test key, which everybody has.
        record: the calibration record of the model.
    """

    key: Path
    version: str
    counter: int = 0
    allow_test_key: bool = False
    record: bytes | None = None


@dataclass(frozen=True)
class SignedPair:
    """The signed images, and the hash that binds them together."""

    firmware: bytes
    model: bytes
    abi: bytes


def slot_regions(board: Board, options: SignOptions) -> tuple[MemoryRegion, MemoryRegion]:
    """Return where the payloads of firmware and model are linked, so that their signed images fit their slots.

    Raises ``UsageError`` if the board takes no updates, or if the key, the version or the counter is not valid.
    """
    layout = update_layout(board)
    if board.emulator is None:
        raise UsageError(
            f"{board.name} is a real board; updates are built only for emulated boards so far.",
            "Choose a board whose name begins with qemu_.",
        )
    require_signing_key(options.key, allow_test_key=options.allow_test_key)
    empty = pair_bytes(board, options, (0, 0))
    return payload_regions(
        layout, empty[0] - layout.firmware_header_bytes, empty[1] - layout.model_header_bytes
    )


def pair_bytes(board: Board, options: SignOptions, payloads: tuple[int, int]) -> tuple[int, int]:
    """Return the bytes of the signed images of firmware and model, whose payloads have ``payloads`` bytes: with an
    Ed25519 key the exact ones, and the most with an ECDSA key, whose signatures differ in length. Raises ``UsageError``
    if the board takes no updates, or if the key, the version or the counter is not valid."""
    key_type = key_type_of(read_public_key(options.key))
    firmware, model = _properties(board, update_layout(board), options, bytes(ABI_BYTES))
    return firmware.image_bytes(payloads[0], key_type), model.image_bytes(payloads[1], key_type)


def sign_pair(
    program: Program, board: Board, regions: tuple[MemoryRegion, MemoryRegion], options: SignOptions
) -> SignedPair:
    """Return the signed images of ``program``, which was linked for ``regions``.

    Raises:
        UsageError: The key is not valid.
        ToolError: imgtool is missing or failed, or the program has nothing in one of the regions.
    """
    layout = update_layout(board)
    payload, constants = (_bytes_in(program, region) for region in regions)
    abi = hashlib.sha256(payload).digest()
    firmware, model = _properties(board, layout, options, abi)

    def sign(content: bytes, properties: ImageProperties, slot_bytes: int) -> bytes:
        return sign_image(content, properties, options.key, slot_bytes, allow_test_key=options.allow_test_key)

    return SignedPair(
        sign(payload, firmware, layout.firmware[0].size), sign(constants, model, layout.model[0].size), abi
    )


def _properties(
    board: Board, layout: UpdateLayout, options: SignOptions, abi: bytes
) -> tuple[ImageProperties, ImageProperties]:
    """Return the properties of the images of firmware and model."""
    firmware = ImageProperties(
        options.version,
        options.counter,
        board.name,
        "firmware",
        abi,
        layout.firmware_header_bytes,
        layout.firmware[0].origin,
    )
    return firmware, replace(
        firmware,
        kind="model",
        header_bytes=layout.model_header_bytes,
        address=layout.model[0].origin,
        record=options.record,
    )


def _bytes_in(program: Program, region: MemoryRegion) -> bytes:
    """Return what the linked program has in ``region``, from the first byte of the region. Gaps are filled like erased
    flash memory. A segment may begin before the region, with the header of the ELF file."""
    content = bytearray()
    for segment in program.segments:
        start = max(region.origin - segment.address, 0)
        data = segment.data[start : max(region.origin + region.size - segment.address, 0)]
        if data:
            content += _ERASED * (segment.address + start - region.origin - len(content)) + data
    if not content:
        raise ToolError(f"The linked program has nothing in {region.name}, at {region.origin:#x}.")
    return bytes(content)
