"""Pack weights into fewer than eight bits each: two layouts for flash, and their sizes.

``PackedCodes`` has a code of 1, 2, 4 or 8 bits for each weight, or only for each weight that is not 0, and a table with
the weight of each code. It is used for int4, clustered and pruned weights. ``packed.h`` decodes the codes one after the
other.

``NibbleRows`` has 32-bit words of half bytes. ``unpack4.h`` converts each word to eight bytes in the layout of the
kernel that reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

#: Binary logarithms of the supported numbers of codes in a byte.
_LOG2_CODES_PER_BYTE = (3, 2, 1)
#: Numbers of words at the start of each row that ``NibbleRows`` may leave unpacked, usually biases.
_HEADS = (0, 1, 2, 4, 16)


@dataclass(frozen=True)
class PackedCodes:
    """Weights as codes.

    ``codes``: uint8, ``1 << log2_codes_per_byte`` codes in each byte, the first in its low bits. ``present``: uint8,
    one bit per weight, which is 0 for a weight of 0 without a code; None if every weight has a code. ``values``: int8,
    the weight of each code; None if a code of 8 bits is the weight itself (only with ``present``).
    """

    codes: np.ndarray
    present: np.ndarray | None
    values: np.ndarray | None
    log2_codes_per_byte: int

    @property
    def nbytes(self) -> int:
        """The bytes of flash. Each array takes whole words."""
        parts = (self.codes, self.present, self.values)
        return sum(-(-a.nbytes // 4) * 4 for a in parts if a is not None)


def smallest_codes(weights: np.ndarray) -> PackedCodes | None:
    """Return the smallest packing of int8 weights in C order. If several are equally small, one
    without ``present`` is preferred. Returns None if the weights have more than 16 distinct values and no zeros. The
    packing may take more bytes than the weights."""
    flat = np.ascontiguousarray(weights).reshape(-1)
    candidates = [*_codes(flat, None)]
    present = flat != 0
    if flat.size and not present.all():
        bits = np.packbits(present, bitorder="little")
        candidates += _codes(flat[present], bits)
        candidates.append(PackedCodes(flat[present].view(np.uint8), bits, None, 0))
    return min(candidates, key=lambda c: c.nbytes, default=None)


def _codes(flat: np.ndarray, present: np.ndarray | None) -> list[PackedCodes]:
    """Return all packings of the weights ``flat`` with codes of 1, 2 or 4 bits."""
    values = np.unique(flat)
    candidates = []
    for log2_codes_per_byte in _LOG2_CODES_PER_BYTE:
        bits = 8 >> log2_codes_per_byte
        if len(values) <= 1 << bits:
            # All layers with int4 weights share one table.
            is_int4 = bits == 4 and (not len(values) or (values[0] >= -8 and values[-1] <= 7))
            table = np.arange(-8, 8, dtype=np.int8) if is_int4 else values.astype(np.int8)
            candidates.append(
                PackedCodes(_joined(np.searchsorted(table, flat), bits), present, table, log2_codes_per_byte)
            )
    return candidates


def _joined(codes: np.ndarray, bits: int) -> np.ndarray:
    """Return codes joined into uint8, the first code in the low bits."""
    codes_per_byte = 8 // bits
    rows = np.pad(codes, (0, -len(codes) % codes_per_byte)).reshape(-1, codes_per_byte)
    shifts = np.arange(codes_per_byte) * bits
    return cast(np.ndarray, (rows << shifts).sum(axis=1).astype(np.uint8))


@dataclass(frozen=True)
class NibbleRows:
    """Weights as half bytes.

    ``words``: uint32. Each of ``rows`` has ``head`` unpacked words, then ``-(-count // 2)`` words of half bytes: the
    low halves are the bytes of one word, the high halves the bytes of the next word. ``base`` is added to each half
    byte, modulo 256, to get the byte.
    """

    words: np.ndarray
    rows: int
    head: int
    count: int
    base: int

    @property
    def unpacked(self) -> int:
        """The bytes of the unpacked weights."""
        return 4 * self.rows * (self.head + self.count)


def pack_nibbles(values: np.ndarray) -> NibbleRows | None:
    """Return the packed form of an array whose bytes are within 16 consecutive values modulo 256; None if they are not.

    The rows of a two-dimensional array of 32-bit words may begin with other words, which stay unpacked. Any other array
    is read as one row of bytes and padded to whole words.
    """
    lines_of_words = values.ndim == 2 and values.itemsize == 4
    rows = values.shape[0] if lines_of_words else 1
    raw = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    for head in _HEADS if lines_of_words else (0,):
        padded = np.pad(raw, (0, -len(raw) % 4), mode="edge") if len(raw) else raw
        lines = padded.reshape(rows, -1)
        body = lines[:, 4 * head :]
        base = _base(body) if body.size else None
        if base is None:
            continue
        count = body.shape[1] // 4
        halves = (body.astype(np.int64) - base) & 0xFF
        pairs = np.pad(halves, ((0, 0), (0, 4 * (count % 2)))).reshape(rows, -1, 2, 4)
        packed = (pairs[:, :, 0] | pairs[:, :, 1] << 4).astype(np.uint8).reshape(rows, -1)
        words = np.concatenate([lines[:, : 4 * head], packed], axis=1)
        return NibbleRows(np.ascontiguousarray(words).view(np.uint32).reshape(-1), rows, head, count, base)
    return None


def _base(body: np.ndarray) -> int | None:
    """Return the first of 16 consecutive values, modulo 256, that include all bytes; None if there are none."""
    values = np.unique(body)
    if len(values) > 16:
        return None
    if len(values) == 1:
        return int(values[0])
    gaps = (np.roll(values, -1).astype(np.int64) - values) & 0xFF
    widest = int(np.argmax(gaps))
    return int(np.roll(values, -1)[widest]) if gaps[widest] >= 256 - 15 else None
