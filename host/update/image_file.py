"""Read what an update image says about itself. The signature is not checked: the device does that."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.update.signed_image import KINDS, TLV_ABI, TLV_BOARD, TLV_KIND, TLV_RECORD
from arenite.input_files import read_bytes

#: The longest image that is read.
MAX_IMAGE_BYTES = 64 * 2**20
_HEADER = struct.Struct("<LLHHLLBBHL4x")
_MAGIC, _PROTECTED, _UNPROTECTED = 0x96F3B83D, 0x6908, 0x6907
_TLV_KEY_HASH, _TLV_HASH, _TLV_COUNTER = 0x01, 0x10, 0x50


@dataclass(frozen=True)
class ImageFile:
    """An update image in a file."""

    path: Path
    data: bytes
    kind: str  # a key of KINDS
    version: str
    board: str
    counter: int
    hash: bytes  # by which devices name the image
    abi: bytes | None  # hash of graph, arena and kernels
    key_hash: bytes  # of the key that signed it (``keys.key_hash``); empty if it does not name the key
    record: bytes | None = None  # calibration record of a model; its form is not checked

    @property
    def pair(self) -> int:
        """The number of the image in the protocol: 0 for the firmware, 1 for the model."""
        return KINDS[self.kind] - 1


def read_image(path: Path) -> ImageFile:
    """Return the update image in the file ``path``. Raise ``UsageError`` if it cannot be read, is none, or is
    damaged."""
    data = read_bytes(path, MAX_IMAGE_BYTES)
    hint = "Give an image that `arenite update build` or `arenite update sign` wrote."
    if len(data) < _HEADER.size and data[:4] in (b"", _MAGIC.to_bytes(4, "little")):
        raise UsageError(f"{path} is {'cut off' if data else 'empty'}: it has {len(data)} bytes.", hint)
    if len(data) < _HEADER.size or _HEADER.unpack_from(data)[0] != _MAGIC:
        raise UsageError(
            f"{path} is not an update image: it does not begin with MCUboot's magic number.", hint
        )
    _, _, header_bytes, _, payload_bytes, _, *version = _HEADER.unpack_from(data)
    tlvs = _read_tlvs(data, header_bytes + payload_bytes)
    kinds = {bytes([number]): kind for kind, number in KINDS.items()}
    kind = kinds.get(tlvs.get(TLV_KIND, b""))
    missing = [
        name
        for name, tlv in (
            ("board", TLV_BOARD),
            ("kind", TLV_KIND),
            ("security counter", _TLV_COUNTER),
            ("SHA-256 hash", _TLV_HASH),
        )
        if not tlvs.get(tlv)
    ]
    if missing or kind is None:
        what = f"it has no {', no '.join(missing)}" if missing else "its kind is unknown"
        raise UsageError(
            f"{path} is not an update image for a device of Arenite, or is cut off: {what}.", hint
        )
    protected_bytes = _HEADER.unpack_from(data)[3]
    if hashlib.sha256(data[: header_bytes + payload_bytes + protected_bytes]).digest() != tlvs[_TLV_HASH]:
        raise UsageError(f"{path} is damaged: its SHA-256 hash is wrong.", "Copy or build the image again.")
    return ImageFile(
        path,
        data,
        kind,
        "{}.{}.{}".format(*version) + (f"+{version[3]}" if version[3] else ""),
        tlvs[TLV_BOARD].decode("utf-8", "replace"),
        int.from_bytes(tlvs[_TLV_COUNTER], "little"),
        tlvs[_TLV_HASH],
        tlvs.get(TLV_ABI),
        tlvs.get(_TLV_KEY_HASH, b""),
        tlvs.get(TLV_RECORD),
    )


def _read_tlvs(data: bytes, at: int) -> dict[int, bytes]:
    """Return the values of the TLVs in the areas from ``at`` on, by type."""
    tlvs: dict[int, bytes] = {}
    end = at
    while at + 4 <= len(data):
        number, length = struct.unpack_from("<HH", data, at)
        if at >= end:
            if number not in (_PROTECTED, _UNPROTECTED):
                break
            end = at + max(length, 4)
            at += 4
        else:
            at += 4 + length
            if at <= len(data):
                tlvs[number] = data[at - length : at]
    return tlvs
