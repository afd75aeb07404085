"""Pairs of Ed25519 keys that sign update images, in PEM files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

INSTALL = "Install it: pip install 'arenite[update]'."
#: The longest key file that is read, in bytes.
MAX_KEY_BYTES = 65536


def generate_key(path: Path) -> Path:
    """Write a new private key to ``path``, and its public key to a file beside it. Return the path of the public key.

    The private key is a PKCS #8 PEM file without a password, which only this user can read (mode 0600). The public key
    of ``release.pem`` is in ``release.public.pem``. No file is overwritten.

    Raises:
        UsageError: One of the files exists or cannot be written, or the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise UsageError("Keys need the package cryptography.", INSTALL) from error
    public_path = path.with_name(f"{path.stem}.public.pem")
    for existing in (path, public_path):
        if existing.exists() or existing.is_symlink():
            raise UsageError(
                f"{existing} exists, and a key is never overwritten.",
                "Give another name, or move the old key to a safe place.",
            )
    key = Ed25519PrivateKey.generate()
    private_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _create(path, private_pem, 0o600)
    try:
        _create(public_path, public_pem, 0o644)
    except UsageError:
        path.unlink(missing_ok=True)
        raise
    return public_path


def read_public_key(path: Path) -> bytes:
    """Return the 32 bytes of the public key in the PEM file ``path``, which has a private or a public key.

    Raises:
        UsageError: The file cannot be read or has no Ed25519 key, or the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    except ImportError as error:
        raise UsageError("Keys need the package cryptography.", INSTALL) from error
    return _load(path).public_bytes(Encoding.Raw, PublicFormat.Raw)


def require_private_key(path: Path) -> None:
    """Raise ``UsageError`` if the PEM file ``path`` has no private Ed25519 key without a password."""
    read_public_key(path)
    if b"PRIVATE KEY" not in path.read_bytes():
        raise UsageError(f"{path} has a public key, which cannot sign.", "Give the file of the private key.")


def _load(path: Path) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    try:
        with path.open("rb") as file:
            data = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise UsageError(
            f"Cannot read the key {path}: {error.strerror or error}.", "Check the path of the PEM file."
        ) from error
    try:
        if b"PRIVATE KEY" in data:
            private = load_pem_private_key(data, None)
            if isinstance(private, Ed25519PrivateKey):
                return private.public_key()
        else:
            public = load_pem_public_key(data)
            if isinstance(public, Ed25519PublicKey):
                return public
    except TypeError as error:
        raise UsageError(
            f"The key {path} has a password.", "Remove the password: openssl pkey -in KEY.pem -out NEW.pem."
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(
            f"{path} is not a key in PEM format.",
            "Make a key pair with `arenite.host.update.keys.generate_key`.",
        ) from error
    raise UsageError(f"{path} has a key of another type than Ed25519.", "Make an Ed25519 key pair.")


def _create(path: Path, data: bytes, mode: int) -> None:
    """Write a new file. Raises ``UsageError`` if it exists."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise UsageError(
            f"Cannot write the key {path}: {error.strerror or error}.",
            "Give a name that does not exist, in a folder that you may write to.",
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"Cannot write the key {path}: {error.strerror or error}.", "Free space.") from error
