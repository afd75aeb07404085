"""Pairs of keys that sign update images, in PEM files: Ed25519, or ECDSA with the curve P-256."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

INSTALL = "Install it: pip install 'arenite[update]'."
#: The algorithms of keys. The first one is the default.
KEY_TYPES = ("ed25519", "ecdsa-p256")
#: The longest signature of each algorithm, in bytes.
MAX_SIGNATURE_BYTES = {"ed25519": 64, "ecdsa-p256": 72}
#: The longest key file that is read, in bytes.
MAX_KEY_BYTES = 65536
#: The private test keys are the SHA-256 hashes of this text and the name of the algorithm, so everybody has them.
_TEST_KEY_TEXT = "Arenite test key of update images: "
#: The bytes before a raw public key in a SubjectPublicKeyInfo of X.509 (RFC 8410 and RFC 5480), by algorithm.
_KEY_INFO = {
    "ed25519": bytes.fromhex("302a300506032b6570032100"),
    "ecdsa-p256": bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004"),
}
_TEST_KEY_WARNING = b"""\
TEST KEY of Arenite. Everybody has this key: it protects nothing.
`arenite update sign` refuses it without --allow-test-key.
"""


def generate_key(path: Path, key_type: str = "ed25519", *, test: bool = False) -> Path:
    """Write a new private key to ``path``, and its public key to a file beside it. Return the path of the public key.

    The private key is a PKCS #8 PEM file without a password, which only this user can read (mode 0600). The public key
    of ``release.pem`` is in ``release.public.pem``. No file is overwritten. With ``test``, the key is the published
    test key of the algorithm.

    Raises:
        UsageError: One of the files exists or cannot be written, or the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise UsageError("Keys need the package cryptography.", INSTALL) from error
    public_path = path.with_name(f"{path.stem}.public.pem")
    for existing in (path, public_path):
        if existing.exists() or existing.is_symlink():
            raise UsageError(
                f"{existing} exists, and a key is never overwritten.",
                "Give another name, or move the old key to a safe place.",
            )
    key = _test_key(key_type) if test else _new_key(key_type)
    private_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    warning = _TEST_KEY_WARNING if test else b""
    _create(path, warning + private_pem, 0o600)
    try:
        _create(public_path, warning + public_pem, 0o644)
    except UsageError:
        path.unlink(missing_ok=True)
        raise
    return public_path


def _new_key(key_type: str) -> Ed25519PrivateKey | EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if key_type == "ed25519":
        return Ed25519PrivateKey.generate()
    if key_type == "ecdsa-p256":
        return generate_private_key(SECP256R1())
    raise UsageError(f"There is no type of key '{key_type}'.", f"Give {' or '.join(KEY_TYPES)}.")


def _test_key(key_type: str) -> Ed25519PrivateKey | EllipticCurvePrivateKey:
    """Return the published private key of the algorithm."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = hashlib.sha256(f"{_TEST_KEY_TEXT}{key_type}".encode()).digest()
    if key_type == "ed25519":
        return Ed25519PrivateKey.from_private_bytes(secret)
    if key_type == "ecdsa-p256":
        return derive_private_key(int.from_bytes(secret, "big"), SECP256R1())
    raise UsageError(f"There is no type of key '{key_type}'.", f"Give {' or '.join(KEY_TYPES)}.")


@cache
def published_keys() -> frozenset[bytes]:
    """Return the public keys of the published test keys, as ``read_public_key`` returns them."""
    return frozenset(_raw(_test_key(key_type).public_key()) for key_type in KEY_TYPES)


def refuse_test_key(path: Path) -> None:
    """Raise ``UsageError`` if the PEM file ``path`` has a published test key, which protects no device."""
    if read_public_key(path) in published_keys():
        raise UsageError(
            f"{path} is the test key of Arenite. Everybody has it, so it must not sign images for devices in use.",
            "Make a key of your own with `arenite update keygen`, or give --allow-test-key if no device in use accepts "
            "this key.",
        )


def read_public_key(path: Path) -> bytes:
    """Return the public key in the PEM file ``path``, which has a private or a public key: the 32 bytes of an Ed25519
    key, or the 64 bytes of both coordinates of a P-256 key.

    Raises:
        UsageError: The file cannot be read or has no such key, or the package cryptography is not installed.
    """
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise UsageError("Keys need the package cryptography.", INSTALL) from error
    return _raw(_load(path))


def key_type_of(public_key: bytes) -> str:
    """Return the algorithm of a key that ``read_public_key`` returned."""
    return KEY_TYPES[len(public_key) == 64]


def key_hash(public_key: bytes) -> bytes:
    """Return the hash by which images name a key that ``read_public_key`` returned, as MCUboot computes it: the SHA-256
    of its SubjectPublicKeyInfo, 32 bytes."""
    return hashlib.sha256(_KEY_INFO[key_type_of(public_key)] + public_key).digest()


def key_name(digest: bytes) -> str:
    """Return the first 16 hexadecimal digits of the hash of a key. If it is a published test key, add this fact."""
    try:
        is_test = digest in map(key_hash, published_keys())
    except ImportError:  # the package cryptography is not needed to send an image
        is_test = False
    return f"{digest.hex()[:16]}{' (the test key of Arenite)' * is_test}"


def _raw(key: Ed25519PublicKey | EllipticCurvePublicKey) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    if isinstance(key, Ed25519PublicKey):
        return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]


def require_private_key(path: Path) -> None:
    """Raise ``UsageError`` if the PEM file ``path`` has no private key without a password."""
    read_public_key(path)
    if b"PRIVATE KEY" not in path.read_bytes():
        raise UsageError(f"{path} has a public key, which cannot sign.", "Give the file of the private key.")


def require_signing_key(path: Path, *, allow_test_key: bool) -> None:
    """Raise ``UsageError`` if the PEM file ``path`` has no private key without a password, or if it has a published
    test key and ``allow_test_key`` is false."""
    require_private_key(path)
    if not allow_test_key:
        refuse_test_key(path)


def _load(path: Path) -> Ed25519PublicKey | EllipticCurvePublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    try:
        with path.open("rb") as file:
            data = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise UsageError(
            f"Cannot read the key {path}: {error.strerror or error}.", "Check the path of the PEM file."
        ) from error
    public: object = None
    try:
        if b"PRIVATE KEY" in data:
            private = load_pem_private_key(data, None)
            if isinstance(private, (Ed25519PrivateKey, ec.EllipticCurvePrivateKey)):
                public = private.public_key()
        else:
            public = load_pem_public_key(data)
        if isinstance(public, Ed25519PublicKey) or (
            isinstance(public, ec.EllipticCurvePublicKey) and isinstance(public.curve, ec.SECP256R1)
        ):
            return public
    except TypeError as error:
        raise UsageError(
            f"The key {path} has a password.", "Remove the password: openssl pkey -in KEY.pem -out NEW.pem."
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(
            f"{path} is not a key in PEM format.",
            "Make a key pair with `arenite update keygen`.",
        ) from error
    raise UsageError(
        f"{path} has a key of another type than Ed25519 or ECDSA P-256.",
        "Make a key pair with `arenite update keygen`.",
    )


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
