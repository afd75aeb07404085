"""The check of signatures accepts those of RFC 8032 and of the package cryptography, and nothing else."""

from __future__ import annotations

import ctypes
import random

import pytest

from tests.firmware.update.image_check import library

ed25519 = pytest.importorskip(
    "cryptography.hazmat.primitives.asymmetric.ed25519", reason="needs cryptography"
)

#: The order of the group of points.
ORDER = 2**252 + 27742317777372353535851937790883648493


def is_valid(signature: bytes, public_key: bytes, message: bytes) -> bool:
    data = ctypes.create_string_buffer(signature, max(len(signature), 72))  # the check overwrites it
    return bool(library().ar_signature_check(data, len(signature), public_key, message))


def test_signatures_of_another_implementation_are_accepted_and_changed_ones_refused() -> None:
    choose = random.Random(1)
    for _ in range(20):
        key = ed25519.Ed25519PrivateKey.from_private_bytes(choose.randbytes(32))
        public = key.public_key().public_bytes_raw()
        message = choose.randbytes(32)
        signature = key.sign(message)
        assert is_valid(signature, public, message)
        for part in range(3):
            values = [bytearray(signature), bytearray(public), bytearray(message)]
            values[part][choose.randrange(len(values[part]))] ^= 1 << choose.randrange(8)
            assert not is_valid(*map(bytes, values))


def test_another_scalar_of_the_same_signature_is_refused() -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    message, public = bytes(32), key.public_key().public_bytes_raw()
    signature = key.sign(message)
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    assert not is_valid(signature[:32] + scalar.to_bytes(32, "little"), public, message)
    assert not is_valid(bytes(64), public, message)
