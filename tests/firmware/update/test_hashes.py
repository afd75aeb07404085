"""SHA-256 and SHA-512 in C give the digests of hashlib, however the data is divided."""

from __future__ import annotations

import ctypes
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_count import example_count
from tests.firmware.update.image_check import library

#: Each hash, and the algorithm of the device that uses it: a device with ECDSA has only SHA-256.
HASHES = pytest.mark.parametrize(
    ("name", "algorithm"), [("sha256", "ed25519"), ("sha512", "ed25519"), ("sha256", "ecdsa-p256")]
)


def digest(name: str, algorithm: str, pieces: list[bytes]) -> bytes:
    """Return the digest of the C code."""
    code = library(algorithm)
    state = ctypes.create_string_buffer(256)  # larger than ar_sha512
    result = ctypes.create_string_buffer(hashlib.new(name).digest_size)
    getattr(code, f"ar_{name}_start")(state)
    for piece in pieces:
        getattr(code, f"ar_{name}_add")(state, piece, ctypes.c_uint32(len(piece)))
    getattr(code, f"ar_{name}_finish")(state, result)
    return result.raw


@HASHES
def test_every_length_up_to_three_blocks(name: str, algorithm: str) -> None:
    for length in range(3 * 128 + 1):
        data = bytes(k * 11 & 255 for k in range(length))
        assert digest(name, algorithm, [data]) == hashlib.new(name, data).digest(), length


@HASHES
@settings(max_examples=example_count(300), deadline=None)
@given(pieces=st.lists(st.binary(max_size=300), max_size=8))
def test_random_pieces(name: str, algorithm: str, pieces: list[bytes]) -> None:
    assert digest(name, algorithm, pieces) == hashlib.new(name, b"".join(pieces)).digest()


@HASHES
def test_a_million_letters(name: str, algorithm: str) -> None:
    data = b"a" * 1_000_000
    assert digest(name, algorithm, [data]) == hashlib.new(name, data).digest()
