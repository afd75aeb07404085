"""Weights packed in fewer bits have their original values when they are unpacked as the kernels do it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.firmware.generator.weight_packing import NibbleRows, PackedCodes, pack_nibbles, smallest_codes
from tests.example_count import example_count


def decoded(codes: PackedCodes, count: int) -> list[int]:
    """Return the first ``count`` weights, unpacked like ``ar_unpack`` of packed.c."""
    bits, weights, at = 8 >> codes.log2_codes_per_byte, [], 0
    for k in range(count):
        if codes.present is not None and not codes.present[k >> 3] >> (k & 7) & 1:
            weights.append(0)
            continue
        byte = int(codes.codes[at >> codes.log2_codes_per_byte])
        code = byte >> (at & ((1 << codes.log2_codes_per_byte) - 1)) * bits & ((1 << bits) - 1)
        weights.append(int(codes.values[code]) if codes.values is not None else (code ^ 128) - 128)
        at += 1
    return weights


def unpacked(nibbles: NibbleRows) -> bytes:
    """Return the weights as bytes, unpacked like ``ar_unpack4`` of unpack4.c."""
    words, at = [], 0
    for _ in range(nibbles.rows):
        words += nibbles.words[at : at + nibbles.head].tolist()
        at += nibbles.head
        for k in range(nibbles.count):
            word = int(nibbles.words[at + k // 2]) >> 4 * (k % 2) & 0x0F0F0F0F
            words.append(
                int.from_bytes(bytes((b + nibbles.base) & 0xFF for b in word.to_bytes(4, "little")), "little")
            )
        at += (nibbles.count + 1) // 2
    assert at == len(nibbles.words)
    return np.array(words, "<u4").tobytes()


@settings(max_examples=example_count(60))
@given(st.sampled_from([1, 2, 3, 9, 16, 40, 200]), st.floats(0, 1), st.integers(0, 300), st.integers(0, 99))
def test_codes_are_decoded_to_the_weights(kinds: int, zeros: float, count: int, seed: int) -> None:
    """``kinds`` is the number of different weights, and ``zeros`` the fraction of weights that are 0."""
    rng = np.random.default_rng(seed)
    table = rng.choice(256, kinds, replace=False) - 128
    weights = np.where(rng.random(count) < zeros, 0, rng.choice(table, count)).astype(np.int8)
    codes = smallest_codes(weights)
    if codes is None:
        assert len(np.unique(weights)) > 16 and np.all(weights)
    else:
        assert decoded(codes, count) == weights.tolist()
        assert codes.values is not None or codes.present is not None


@pytest.mark.parametrize(
    ("weights", "bits", "sparse"),
    [
        (np.tile([-1, 1], 500), 1, False),
        (np.tile([-1, 0, 1, 0, 0, 0, 0, 0, 0, 0], 100), 1, True),
        (np.tile([-4, 1, 5], 300), 2, False),
        (np.tile(np.arange(-8, 8), 60), 4, False),
        (np.repeat(np.arange(100), [901] + [1] * 99), 8, True),
    ],
)
def test_the_code_with_the_fewest_bytes_is_chosen(weights: np.ndarray, bits: int, sparse: bool) -> None:
    codes = smallest_codes(weights.astype(np.int8))
    assert codes is not None and codes.nbytes < 0.6 * weights.size
    assert 8 >> codes.log2_codes_per_byte == bits
    assert (codes.present is not None) == sparse


@settings(max_examples=example_count(60))
@given(st.integers(0, 255), st.integers(1, 90), st.integers(0, 99))
def test_nibbles_are_unpacked_to_the_values(base: int, count: int, seed: int) -> None:
    values = ((np.random.default_rng(seed).integers(0, 16, count) + base) & 255).astype(np.uint8)
    nibbles = pack_nibbles(values)
    assert nibbles is not None
    assert unpacked(nibbles)[:count] == values.tobytes()
    assert nibbles.words.nbytes <= 4 * -(-count // 8) + 4


@pytest.mark.parametrize("head", [0, 2, 16])
def test_nibbles_of_rows_can_follow_biases(head: int) -> None:
    """Each row begins with ``head`` words that are not packed, such as biases."""
    rng = np.random.default_rng(head)
    body = rng.integers(-8, 8, (5, 12)).astype(np.int8).view("<i4")
    rows = np.concatenate([rng.integers(-(2**31), 2**31, (5, head)).astype(np.int32), body], axis=1)
    nibbles = pack_nibbles(rows)
    assert nibbles is not None and nibbles.head == head
    assert unpacked(nibbles) == rows.tobytes()


def test_more_than_sixteen_values_do_not_fit_nibbles() -> None:
    assert pack_nibbles(np.arange(17, dtype=np.int8)) is None
    assert pack_nibbles(np.array([0, 16], np.int8)) is None
    assert pack_nibbles(np.array([-8, 7], np.int8)) is not None


def test_more_than_sixteen_values_without_zeros_have_no_codes() -> None:
    assert smallest_codes(np.arange(1, 18, dtype=np.int8)) is None
