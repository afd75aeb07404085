"""The check of update images, compiled for the host, and images that are signed for it."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import util
from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.firmware.sources import UPDATE
from arenite.firmware.update.monocypher import monocypher_folder
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.signed_image import ImageProperties, sign_image

SOURCES = ("image.c", "ed25519.c", "sha256.c", "sha512.c", "sha2_constants.c")
STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")
BOARD, ABI, MIN_COUNTER, ADDRESS = "nrf52840_dk", bytes(range(32)), 7, 0x8000
HAS_IMGTOOL = util.find_spec("imgtool") is not None and util.find_spec("cryptography") is not None
NO_IMGTOOL = "needs imgtool and cryptography: pip install 'arenite[update]'"
FIRMWARE = ImageProperties("1.2.3+4", MIN_COUNTER, BOARD, "firmware", header_bytes=64)
MODEL = ImageProperties("2.0.65535+4294967295", 4294967295, BOARD, "model", ABI)

_KEY_FOLDER = tempfile.TemporaryDirectory(prefix="arenite-keys-")  # removed at the end of the process
_U32, _P = ctypes.c_uint32, ctypes.c_void_p
_READ = ctypes.CFUNCTYPE(ctypes.c_int, _P, _U32, _P, _U32)


class _Flash(ctypes.Structure):
    _fields_ = [
        *((name, _U32) for name in ("page_bytes", "pages", "unit_bytes")),
        *(("erase", _P), ("program", _P), ("read", _READ), ("busy", _P), ("context", _P)),
    ]


class _Rules(ctypes.Structure):
    _fields_ = [
        *(("public_key", ctypes.c_char_p), ("board", ctypes.c_char_p), ("abi", ctypes.c_char_p)),
        *(("address", _U32), ("min_counter", _U32), ("kind", ctypes.c_uint8)),
    ]


class Image(ctypes.Structure):
    """``ar_image``: the properties of an accepted image."""

    _fields_ = [
        *((name, _U32) for name in ("bytes", "header_bytes", "payload_bytes", "counter")),
        *(("major", ctypes.c_uint8), ("minor", ctypes.c_uint8), ("revision", ctypes.c_uint16)),
        *(("build", _U32), ("kind", ctypes.c_uint8)),
        *(("abi", ctypes.c_uint8 * 32), ("hash", ctypes.c_uint8 * 32)),
    ]


@cache
def _monocypher() -> Path | ToolError:
    try:
        return monocypher_folder(progress=False)
    except ToolError as error:
        return error


def monocypher_or_skip() -> Path:
    """Return the folder of Monocypher. Skip the test if it cannot be downloaded."""
    found = _monocypher()
    if isinstance(found, ToolError):
        pytest.skip(f"needs Monocypher: {found}")
    return found


def compile_host(output: Path, sources: Sequence[Path], *flags: str) -> None:
    """Compile the check and ``sources`` with warnings as errors. Monocypher's own warnings are not errors."""
    library = monocypher_or_skip()
    monocypher = output.with_suffix(".o")
    sanitizers = [flag for flag in flags if flag.startswith(("-fsanitize", "-fno-sanitize", "-fPIC"))]
    command = ["gcc", "-std=c99", "-O2", *sanitizers, "-c", str(library / "monocypher.c")]
    subprocess.run([*command, "-o", str(monocypher)], check=True)
    own = [*(UPDATE.path(name) for name in SOURCES), *sources]
    command = ["gcc", *STRICT, *flags, *UPDATE.include_flags, "-isystem", str(library)]
    subprocess.run([*command, *map(str, own), str(monocypher), "-o", str(output)], check=True)


@cache
def library() -> ctypes.CDLL:
    """Return the check as a library that aborts on undefined behavior."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.so"
        flags = ("-fsanitize=undefined", "-fno-sanitize-recover=all", "-fPIC", "-shared")
        compile_host(path, [], *flags)
        return ctypes.CDLL(str(path))


@dataclass(frozen=True)
class Rules:
    """The rules of a device. The defaults accept ``MODEL``."""

    public_key: bytes
    board: str = BOARD
    abi: bytes | None = ABI
    address: int = ADDRESS
    min_counter: int = MIN_COUNTER
    kind: int = 2


def check(slot: bytes, rules: Rules, fail_read: int = -1) -> tuple[int, Image, list[tuple[int, int]]]:
    """Return the result of ``ar_image_check``, the image, and offset and length of each read. Read ``fail_read``
    fails."""
    reads: list[tuple[int, int]] = []

    def read(_: int, at: int, data: int, count: int) -> int:
        assert at + count <= len(slot), f"read {count} bytes at {at} of {len(slot)}"
        reads.append((at, count))
        if len(reads) - 1 == fail_read:
            return 1
        ctypes.memmove(data, slot[at : at + count], count)
        return 0

    flash = _Flash(1, len(slot), 1, None, None, _READ(read), None, None)
    c_rules = _Rules(
        rules.public_key, rules.board.encode(), rules.abi, rules.address, rules.min_counter, rules.kind
    )
    image = Image()
    result = library().ar_image_check(ctypes.byref(flash), ctypes.byref(c_rules), ctypes.byref(image))
    return result, image, reads


@cache
def keys() -> tuple[Path, Path]:
    """Return the files of two private keys: that of the devices, and a foreign one."""
    folder = Path(_KEY_FOLDER.name)
    for name in ("own.pem", "foreign.pem"):
        generate_key(folder / name)
    return folder / "own.pem", folder / "foreign.pem"


@cache
def public_key() -> bytes:
    """Return the public key of the devices."""
    return read_public_key(keys()[0])


@cache
def signed(properties: ImageProperties, payload_bytes: int = 300, foreign: bool = False) -> bytes:
    """Return an image with a payload of ``payload_bytes`` bytes."""
    payload = bytes(k * 7 & 255 for k in range(payload_bytes))
    return sign_image(payload, properties, keys()[foreign], 1 << 20)


def refused_images() -> dict[str, bytes]:
    """Return images that are signed and whole, but that the device must refuse, by name."""
    return {
        "foreign firmware": signed(FIRMWARE, foreign=True),
        "foreign model": signed(MODEL, foreign=True),
        "older firmware": signed(replace(FIRMWARE, counter=MIN_COUNTER - 1)),
        "older model": signed(replace(MODEL, counter=0)),
        "firmware of another board": signed(replace(FIRMWARE, board="nrf52840")),
        "model of another board": signed(replace(MODEL, board=BOARD + "2")),
        "model of another graph": signed(replace(MODEL, abi=bytes(32))),
        "firmware with another graph": signed(replace(FIRMWARE, abi=bytes(32))),
        "firmware for another address": signed(replace(FIRMWARE, abi=ABI, address=ADDRESS + 0x8000)),
    }
