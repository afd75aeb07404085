"""The algorithms that sign update images. A device checks one of them, which is chosen when its firmware is built.

There are two checks of Ed25519: a fast one, and a small one that needs less flash memory and RAM. Both accept the same
signatures.
"""

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

    name: str  # of the check: its key in ``CHECKS``
    algorithm: str
    key_bytes: int  # of the public key in the device
    sources: tuple[str, ...]  # base names of our C files
    defines: tuple[str, ...]  # flags for our C files
    library_source: str | None  # C file in the library's folder; None if one of ``sources`` includes it
    folder: Callable[[], Path]  # returns the library's folder; may download it
    flags: Callable[[Path], tuple[str, ...]]  # flags for all files, from the library's folder

    @property
    def source_paths(self) -> list[Path]:
        """The paths of our C files."""
        return [UPDATE.path(name) for name in self.sources]

    def library_paths(self, folder: Path) -> list[Path]:
        """Return the paths of the library's C files that are compiled for themselves. ``folder`` is the library's."""
        return [folder / self.library_source] if self.library_source is not None else []


def _system_folder(folder: Path) -> tuple[str, ...]:
    return ("-isystem", str(folder))


CHECKS = {
    check.name: check
    for check in (
        SignatureCheck(
            name="ed25519",
            algorithm="ed25519",
            key_bytes=32,
            sources=("image.c", "ed25519.c", "sha256.c", "sha512.c", "sha2_constants.c"),
            defines=(),
            library_source="monocypher.c",
            folder=lambda: monocypher_folder(progress=False),
            flags=_system_folder,
        ),
        SignatureCheck(
            name="ed25519-small",
            algorithm="ed25519",
            key_bytes=32,
            sources=("image.c", "ed25519_small.c", "sha256.c", "sha512.c", "sha2_constants.c"),
            defines=(),
            library_source=None,
            folder=lambda: p256_m_folder(progress=False),
            flags=p256_m_flags,
        ),
        SignatureCheck(
            name="ecdsa-p256",
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


def signature_check(public_key: bytes, *, small: bool = False) -> SignatureCheck:
    """Return how the check for this public key is compiled: the fast one, or the one with the least code if ``small``.
    ECDSA has one check. Raises ``UsageError`` if the key has another length than those of all algorithms."""
    checks = [check for check in CHECKS.values() if check.key_bytes == len(public_key)]
    if checks:
        return checks[-1 if small else 0]
    raise UsageError(
        f"The public key has {len(public_key)} bytes, expected 32 (Ed25519) or 64 (ECDSA P-256).",
        "Give a key of `arenite update keygen`.",
    )
