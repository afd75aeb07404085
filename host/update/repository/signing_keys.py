"""Sign metadata of repositories with the Ed25519 keys of ``arenite update keygen``."""

# tuf and securesystemslib have no list of what they export.
# pyright: reportPrivateImportUsage=false
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.update.keys import MAX_KEY_BYTES, require_private_key
from arenite.host.update.repository.errors import missing_package
from arenite.host.update.repository.file_reader import read_file

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner


def read_signer(path: Path) -> CryptoSigner:
    """Return a signer with the private Ed25519 key in the PEM file ``path``. Raises ``UsageError``."""
    require_private_key(path)
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from securesystemslib.signer import CryptoSigner
    except ImportError as error:
        raise missing_package(error) from error
    key = load_pem_private_key(read_file(path, MAX_KEY_BYTES), None)
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"{path} has a key of another type than Ed25519.", "Make one: arenite update keygen NAME.pem."
        )
    return CryptoSigner(key)
