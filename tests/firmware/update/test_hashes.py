"""SHA-256 and SHA-512 in C give the digests of hashlib, however the data is divided."""

from __future__ import annotations

import ctypes
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_count import example_count
from tests.firmware.update.image_check import library


def digest(name: str, pieces: list[bytes]) -> bytes:
    """Return the digest of the C code."""
    state = ctypes.create_string_buffer(256)  # larger than ar_sha512
    result = ctypes.create_string_buffer(hashlib.new(name).digest_size)
    getattr(library(), f"ar_{name}_start")(state)
    for piece in pieces:
        getattr(library(), f"ar_{name}_add")(state, piece, ctypes.c_uint32(len(piece)))
    getattr(library(), f"ar_{name}_finish")(state, result)
    return result.raw


@pytest.mark.parametrize("name", ["sha256", "sha512"])
def test_every_length_up_to_three_blocks(name: str) -> None:
    for length in range(3 * 128 + 1):
        data = bytes(k * 11 & 255 for k in range(length))
        assert digest(name, [data]) == hashlib.new(name, data).digest(), length


@pytest.mark.parametrize("name", ["sha256", "sha512"])
@settings(max_examples=example_count(300), deadline=None)
@given(pieces=st.lists(st.binary(max_size=300), max_size=8))
def test_random_pieces(name: str, pieces: list[bytes]) -> None:
    assert digest(name, pieces) == hashlib.new(name, b"".join(pieces)).digest()


@pytest.mark.parametrize("name", ["sha256", "sha512"])
def test_a_million_letters(name: str) -> None:
    data = b"a" * 1_000_000
    assert digest(name, [data]) == hashlib.new(name, data).digest()
