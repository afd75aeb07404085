"""Encode the Thumb-2 instructions of tree ensembles, with branches to labels.

The encodings are in chapter A7 of the Armv7-M Architecture Reference Manual. Short and long forms of branches are
chosen here, so the size of the code is known without an assembler.
"""

from __future__ import annotations

from collections.abc import Sequence

GREATER, LESS_OR_EQUAL, GREATER_OR_EQUAL, LESS = 0b1100, 0b1101, 0b1010, 0b1011
ALWAYS = 0b1110

#: A branch to a label: (condition, label). Other instructions are their halfwords.
Branch = tuple[int, int]
Item = list[int] | Branch


class Assembler:
    """A sequence of instructions. Labels are numbers."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._labels: dict[int, int] = {}  # label: the index of the following item
        self._next_label = 0

    def new_label(self) -> int:
        """Return a label that is not placed yet."""
        self._next_label += 1
        return self._next_label

    def place(self, label: int) -> None:
        """Place ``label`` before the next instruction."""
        self._labels[label] = len(self._items)

    def add(self, halfwords: Sequence[int]) -> None:
        self._items.append(list(halfwords))

    def branch(self, label: int, condition: int = ALWAYS) -> None:
        self._items.append((condition, label))

    def halfwords(self) -> list[int]:
        """Return the machine code. Branches that are too far for two bytes get four bytes."""
        sizes = [1 if isinstance(item, tuple) else len(item) for item in self._items]
        while True:
            starts = [0]
            for size in sizes:
                starts.append(starts[-1] + size)
            too_far = [
                k
                for k, item in enumerate(self._items)
                if isinstance(item, tuple)
                and sizes[k] == 1
                and not _is_near(item[0], self._distance(k, item, starts))
            ]
            if not too_far:
                break
            for k in too_far:
                sizes[k] = 2
        code: list[int] = []
        for k, item in enumerate(self._items):
            if isinstance(item, tuple):
                code += _branch(item[0], self._distance(k, item, starts), is_long=sizes[k] == 2)
            else:
                code += item
        return code

    def _distance(self, k: int, item: Branch, starts: Sequence[int]) -> int:
        """Return the bytes from the program counter, which is 4 bytes after the branch, to its label."""
        return 2 * (starts[self._labels[item[1]]] - starts[k]) - 4


def _is_near(condition: int, distance: int) -> bool:
    """Return whether a branch of two bytes reaches ``distance`` bytes."""
    limit = 2048 if condition == ALWAYS else 256
    return -limit <= distance < limit


def _branch(condition: int, distance: int, *, is_long: bool) -> list[int]:
    """Return the halfwords of a branch. ``distance`` is in bytes, counted from 4 bytes after the branch."""
    offset = distance >> 1
    if not is_long:
        return [0xE000 | offset & 0x7FF] if condition == ALWAYS else [0xD000 | condition << 8 | offset & 0xFF]
    if condition == ALWAYS:  # B.W, encoding T4
        if not -(1 << 24) <= distance < 1 << 24:
            raise ValueError("A branch is too far.")
        sign = distance >> 24 & 1
        j1, j2 = (1 ^ (distance >> 23 & 1) ^ sign), (1 ^ (distance >> 22 & 1) ^ sign)
        return [0xF000 | sign << 10 | distance >> 12 & 0x3FF, 0x9000 | j1 << 13 | j2 << 11 | offset & 0x7FF]
    if not -(1 << 20) <= distance < 1 << 20:
        raise ValueError("A branch is too far.")
    sign, j1, j2 = distance >> 20 & 1, distance >> 18 & 1, distance >> 19 & 1  # B<c>.W, encoding T3
    return [
        0xF000 | sign << 10 | condition << 6 | distance >> 12 & 0x3F,
        0x8000 | j1 << 13 | j2 << 11 | offset & 0x7FF,
    ]


def load_feature(register: int, base: int, index: int, size: int) -> list[int]:
    """LDRSH of element ``index`` if the elements have a ``size`` of 2 bytes, otherwise LDRSB."""
    return [(0xF9B0 if size == 2 else 0xF990) | base, register << 12 | index * size]


def load_word(register: int, base: int, index: int) -> list[int]:
    """LDR of word ``index``."""
    if register < 8 and base < 8 and index < 32:
        return [0x6800 | index << 6 | base << 3 | register]
    return [0xF8D0 | base, register << 12 | index * 4]


def store_word(register: int, base: int, index: int) -> list[int]:
    """STR of word ``index``."""
    if register < 8 and base < 8 and index < 32:
        return [0x6000 | index << 6 | base << 3 | register]
    return [0xF8C0 | base, register << 12 | index * 4]


def move_16_bits(register: int, value: int) -> list[int]:
    """MOVS or MOVW of a value from 0 to 65535."""
    if value < 256 and register < 8:
        return [0x2000 | register << 8 | value]
    return [0xF240 | (value >> 11 & 1) << 10 | value >> 12, _low_immediate(value, register)]


def move_32_bits(register: int, value: int) -> list[int]:
    """MOVS or MOVW, and MOVT if needed, of a signed value of 32 bits."""
    bits = value & 0xFFFFFFFF
    low = move_16_bits(register, bits & 0xFFFF)
    high = bits >> 16
    if not high:
        return low
    return [*low, 0xF2C0 | (high >> 11 & 1) << 10 | high >> 12, _low_immediate(high, register)]


def _low_immediate(value: int, register: int) -> int:
    """Return the second halfword of an instruction with an immediate value of 12 or 16 bits."""
    return (value >> 8 & 7) << 12 | register << 8 | value & 0xFF


def add_constant(register: int, value: int, spare: int) -> list[int]:
    """Add a value from -65535 to 65535. ``spare`` is a register that may change."""
    size, subtract = abs(value), value < 0
    if size == 0:
        return []
    if size < 256:
        return [(0x3800 if subtract else 0x3000) | register << 8 | size]
    if size < 4096:  # ADDW, SUBW
        first = (0xF2A0 if subtract else 0xF200) | register | (size >> 11 & 1) << 10
        return [first, _low_immediate(size, register)]
    return [
        *move_16_bits(spare, size),
        (0x1A00 if subtract else 0x1800) | spare << 6 | register << 3 | register,
    ]


def compare_constant(register: int, value: int, spare: int) -> list[int]:
    """CMP with a value from -65535 to 65535. ``spare`` is a register that may change."""
    if 0 <= value < 256:
        return [0x2800 | register << 8 | value]
    encoded = _modified_immediate(abs(value))
    if encoded is not None:  # CMP.W, CMN.W
        first = (0xF110 if value < 0 else 0xF1B0) | register | (encoded >> 11) << 10
        return [first, (encoded >> 8 & 7) << 12 | 0xF00 | encoded & 0xFF]
    loaded = move_16_bits(spare, abs(value))
    if spare < 8:
        return [*loaded, (0x42C0 if value < 0 else 0x4280) | spare << 3 | register]
    if value < 0:  # CMN.W
        return [*loaded, 0xEB10 | register, 0x0F00 | spare]
    return [*loaded, 0x4500 | spare << 3 | register]


def move_register(register: int, source: int) -> list[int]:
    """MOV of a register."""
    return [0x4600 | (register & 8) << 4 | source << 3 | register & 7]


def _modified_immediate(value: int) -> int | None:
    """Return the 12 bits that encode a value, or None: the value must be 8 bits, or 8 bits that are shifted."""
    if value < 256:
        return value
    for rotation in range(8, 32):
        rotated = (value << rotation | value >> (32 - rotation)) & 0xFFFFFFFF
        if 128 <= rotated < 256:
            return rotation << 7 | rotated & 0x7F
    return None


RETURN = [0x4770]  # BX LR
