"""The algorithms that sign update images. A device checks one of them, which is chosen when its firmware is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.firmware.sources import UPDATE
from arenite.firmware.update.monocypher import monocypher_folder
from arenite.firmware.update.p256_m import p256_m_flags, p256_m_folder


@dataclass(frozen=True)
class SignatureCheck:
    """How the check of images with signatures of one algorithm is compiled."""

    algorithm: str
    key_bytes: int  # of the public key in the device
    sources: tuple[str, ...]  # base names of our C files
    defines: tuple[str, ...]  # flags for our C files
    library_source: str  # C file in the library's folder
    folder: Callable[[], Path]  # returns the library's folder; may download it
    flags: Callable[[Path], tuple[str, ...]]  # flags for all files, from the library's folder

    @property
    def source_paths(self) -> list[Path]:
        """The paths of our C files."""
        return [UPDATE.path(name) for name in self.sources]


def _system_folder(folder: Path) -> tuple[str, ...]:
    return ("-isystem", str(folder))


CHECKS = {
    check.algorithm: check
    for check in (
        SignatureCheck(
            algorithm="ed25519",
            key_bytes=32,
            sources=("image.c", "ed25519.c", "sha256.c", "sha512.c", "sha2_constants.c"),
            defines=(),
            library_source="monocypher.c",
            folder=lambda: monocypher_folder(progress=False),
            flags=_system_folder,
        ),
        SignatureCheck(
            algorithm="ecdsa-p256",
            key_bytes=64,
            sources=("image.c", "p256.c", "sha256.c", "sha2_constants.c"),
            defines=("-DAR_UPDATE_P256",),
            library_source="p256-m.c",
            folder=lambda: p256_m_folder(progress=False),
            flags=p256_m_flags,
        ),
    )
}


def signature_check(public_key: bytes) -> SignatureCheck:
    """Return how the check for this public key is compiled."""
    for check in CHECKS.values():
        if check.key_bytes == len(public_key):
            return check
    raise UsageError(
        f"The public key has {len(public_key)} bytes, expected 32 (Ed25519) or 64 (ECDSA P-256).",
        "Give a key of `arenite update keygen`.",
    )
