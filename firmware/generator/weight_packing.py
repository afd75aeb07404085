"""Pack weights into fewer bits than eight: their layout in flash, and its size.

There are two forms. ``packed.h`` reads ``PackedCodes`` one after the other: 1, 2, 4 or 8 bits for each weight, or for
each weight that is not 0. A table has the weight of each code. int4 weights are codes of 4 bits. Clustered and pruned
int8 weights also take fewer bytes as codes. ``NibbleRows`` are whole words of nibbles, which ``unpack4.h`` converts to
the bytes of any kernel's own layout, eight at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

#: Binary logarithm of the codes in a byte.
_PER_BYTE = (3, 2, 1)
#: Numbers of words at the start of each row that ``NibbleRows`` may leave unpacked, usually biases.
_HEADS = (0, 1, 2, 4, 16)


@dataclass(frozen=True)
class PackedCodes:
    """Weights as codes.

    ``codes``: uint8, ``1 << per_byte`` codes in each byte, the first in its low bits. ``present``: uint8, one bit per
    weight, which is set if the weight has a code; None if all have one. ``values``: int8, the weight of each code;
    None, together with ``present``, if the code is the weight.
    """

    codes: np.ndarray
    present: np.ndarray | None
    values: np.ndarray | None
    per_byte: int

    @property
    def nbytes(self) -> int:
        """The bytes of flash. Each array takes whole words."""
        parts = (self.codes, self.present, self.values)
        return sum(-(-a.nbytes // 4) * 4 for a in parts if a is not None)


def smallest_codes(weights: np.ndarray) -> PackedCodes | None:
    """Return the form of int8 weights, in C order, that takes the fewest bytes; of equal forms, the simplest. Returns
    None if they have more than 16 values and no zeros. The form may take more bytes than the weights."""
    flat = np.ascontiguousarray(weights).reshape(-1)
    candidates = [*_codes(flat, None)]
    present = flat != 0
    if flat.size and not present.all():
        bits = np.packbits(present, bitorder="little")
        candidates += _codes(flat[present], bits)
        candidates.append(PackedCodes(flat[present].view(np.uint8), bits, None, 0))
    return min(candidates, key=lambda c: c.nbytes, default=None)


def _codes(flat: np.ndarray, present: np.ndarray | None) -> list[PackedCodes]:
    values = np.unique(flat)
    candidates = []
    for per_byte in _PER_BYTE:
        bits = 8 >> per_byte
        if len(values) <= 1 << bits:
            # All layers with int4 weights share one table.
            is_int4 = bits == 4 and (not len(values) or (values[0] >= -8 and values[-1] <= 7))
            table = np.arange(-8, 8, dtype=np.int8) if is_int4 else values.astype(np.int8)
            candidates.append(
                PackedCodes(_joined(np.searchsorted(table, flat), bits), present, table, per_byte)
            )
    return candidates


def _joined(codes: np.ndarray, bits: int) -> np.ndarray:
    """Join codes into uint8, the first code in the low bits."""
    per_byte = 8 // bits
    rows = np.pad(codes, (0, -len(codes) % per_byte)).reshape(-1, per_byte)
    shifts = np.arange(per_byte) * bits
    return cast(np.ndarray, (rows << shifts).sum(axis=1).astype(np.uint8))


@dataclass(frozen=True)
class NibbleRows:
    """Weights as half bytes.

    ``words``: uint32. Each of ``rows`` has ``head`` unpacked words, then ``-(-count // 2)`` words of half bytes: the
    low halves are the bytes of one word, the high halves those of the next. ``base`` is added to each, modulo 256.
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
    """Pack an array of whole words, or bytes, whose bytes lie within 16 consecutive values modulo 256. Some words at
    the start of each row may be exceptions. Returns None for other arrays. An array of one dimension is one row, and is
    padded to whole words."""
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
