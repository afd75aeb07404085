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
from arenite.firmware.update.algorithms import CHECKS, signature_check
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.signed_image import ImageProperties, sign_image

ALGORITHMS = tuple(CHECKS)  # the names of the checks
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
def _folder(algorithm: str) -> Path | ToolError:
    try:
        return CHECKS[algorithm].folder()
    except ToolError as error:
        return error


def library_or_skip(algorithm: str) -> Path:
    """Return the folder of the library for the curve's arithmetic. Skip the test if it cannot be downloaded."""
    folder = _folder(algorithm)
    if isinstance(folder, ToolError):
        pytest.skip(f"needs a library: {folder}")
    return folder


def compile_host(output: Path, sources: Sequence[Path], *flags: str, algorithm: str = "ed25519") -> None:
    """Compile the check and ``sources`` with warnings as errors. Warnings of the library are not errors."""
    folder, check = library_or_skip(algorithm), CHECKS[algorithm]
    # p256-m multiplies in small parts if it is not told that the computer's multiplication is good enough.
    includes = ("-DMUL64_IS_CONSTANT_TIME", *check.flags(folder))
    arithmetic = []
    sanitizers = [flag for flag in flags if flag.startswith(("-fsanitize", "-fno-sanitize", "-fPIC"))]
    for source in check.library_paths(folder):
        arithmetic.append(output.with_suffix(".o"))
        command = ["gcc", "-std=c99", "-O2", *sanitizers, *includes, "-c", str(source)]
        subprocess.run([*command, "-o", str(arithmetic[-1])], check=True)
    own = [*check.source_paths, *sources, *arithmetic]
    command = ["gcc", *STRICT, *flags, *check.defines, *UPDATE.include_flags, *includes]
    subprocess.run([*command, *map(str, own), "-o", str(output)], check=True)


@cache
def library(algorithm: str = "ed25519") -> ctypes.CDLL:
    """Return the check as a library that aborts on undefined behavior."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.so"
        flags = ("-fsanitize=undefined", "-fno-sanitize-recover=all", "-fPIC", "-shared")
        compile_host(path, [], *flags, algorithm=algorithm)
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


def check(
    slot: bytes, rules: Rules, fail_read: int = -1, algorithm: str | None = None
) -> tuple[int, Image, list[tuple[int, int]]]:
    """Return the result of ``ar_image_check``, the image, and offset and length of each read. Read ``fail_read`` fails.
    ``algorithm`` is the check, by default the first one for the public key."""
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
    c_library = library(algorithm or signature_check(rules.public_key).name)
    result = c_library.ar_image_check(ctypes.byref(flash), ctypes.byref(c_rules), ctypes.byref(image))
    return result, image, reads


@cache
def keys(algorithm: str = "ed25519") -> tuple[Path, Path]:
    """Return the files of two private keys: that of the devices, and a foreign one. ``algorithm`` is the name of a
    check; all checks of one algorithm have the same keys."""
    folder, algorithm = Path(_KEY_FOLDER.name), CHECKS[algorithm].algorithm
    own, foreign = (folder / f"{algorithm}.{name}.pem" for name in ("own", "foreign"))
    for path in (own, foreign):
        if not path.exists():  # the cache takes keys() and keys("ed25519") for different calls
            generate_key(path, algorithm)
    return own, foreign


@cache
def public_key(algorithm: str = "ed25519") -> bytes:
    """Return the public key of the devices."""
    return read_public_key(keys(algorithm)[0])


@cache
def signed(
    properties: ImageProperties,
    payload_bytes: int = 300,
    foreign: bool = False,
    algorithm: str = "ed25519",
) -> bytes:
    """Return an image with a payload of ``payload_bytes`` bytes."""
    payload = bytes(k * 7 & 255 for k in range(payload_bytes))
    return sign_image(payload, properties, keys(algorithm)[foreign], 1 << 20)


def refused_images(algorithm: str = "ed25519") -> dict[str, bytes]:
    """Return images that are signed and whole, but that the device must refuse, by name."""
    other = next(name for name in ALGORITHMS if CHECKS[name].algorithm != CHECKS[algorithm].algorithm)

    def image(properties: ImageProperties, *, foreign: bool = False) -> bytes:
        return signed(properties, foreign=foreign, algorithm=algorithm)

    return {
        "foreign firmware": image(FIRMWARE, foreign=True),
        "foreign model": image(MODEL, foreign=True),
        "older firmware": image(replace(FIRMWARE, counter=MIN_COUNTER - 1)),
        "older model": image(replace(MODEL, counter=0)),
        "firmware of another board": image(replace(FIRMWARE, board="nrf52840")),
        "model of another board": image(replace(MODEL, board=BOARD + "2")),
        "model of another graph": image(replace(MODEL, abi=bytes(32))),
        "firmware with another graph": image(replace(FIRMWARE, abi=bytes(32))),
        "firmware for another address": image(replace(FIRMWARE, abi=ABI, address=ADDRESS + 0x8000)),
        "model with another algorithm": signed(MODEL, algorithm=other),
    }
