"""Read the header of a GGUF file: its metadata, and name, shape, type and place of each tensor.

The package ``gguf`` is not used, because its reader trusts counts and lengths: a file of 100 bytes that declares 2⁴⁰
array elements keeps it busy without end. This reader maps the file into memory, compares each count with the bytes that
are left, and keeps only short texts and arrays. The tests compare both readers.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from arenite.errors import ModelError
from arenite.host.llm.ggml_types import GGML_TYPES, GgmlType
from arenite.input_files import check_is_file

MAGIC = b"GGUF"
#: Version 1 had 32-bit counts and was used for some weeks of 2023.
VERSIONS = (2, 3)
MAX_ENTRIES = 65_536
MAX_STRINGS = 8 << 20
#: The largest numbers of elements and bytes that are kept: of all arrays together, and of one text.
MAX_KEPT_ELEMENTS = 1 << 14
MAX_KEPT_TEXT = 1024
MAX_DIMENSIONS = 4
_STRING, _ARRAY = 8, 9
#: The struct formats of the scalar types of metadata, by their number.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_HINT = "Download the file again, and compare its size with that on the page of the model."


@dataclass(frozen=True)
class LongArray:
    """An array of ``count`` elements that was skipped."""

    count: int


@dataclass(frozen=True)
class TensorInfo:
    """A tensor. ``shape`` begins with the dimension whose elements are adjacent, as in the file."""

    name: str
    shape: tuple[int, ...]
    kind: GgmlType
    offset: int  # from the start of the tensor data

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int:
        return self.kind.row_bytes(self.elements)


@dataclass(frozen=True)
class GgufHeader:
    """The header of a file: metadata by key, and the tensors in the order of the file."""

    path: Path
    metadata: dict[str, Any]
    tensors: tuple[TensorInfo, ...]


def read_gguf_header(path: Path) -> GgufHeader:
    """Return the header of the GGUF file at ``path``.

    Raises:
        ModelError: The file is not GGUF, is truncated, or a count, length, type or offset is not possible.
        OSError: The file cannot be read.
    """
    check_is_file(path)
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            raise ModelError(f"{path.name} is empty.", _HINT)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(path, data).header()


class _Reader:
    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path, self._data, self._at, self._size = path, data, 0, len(data)
        self._strings_left, self._elements_left = MAX_STRINGS, MAX_KEPT_ELEMENTS

    def header(self) -> GgufHeader:
        if bytes(self._data[:4]) != MAGIC:
            self._fail("does not begin with GGUF", "Give a file that ends in .gguf, or a config.json.")
        self._at = 4
        version = self._number("I", "the version")
        if version not in VERSIONS:
            if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS:
                self._fail("is in big-endian byte order", "Use a little-endian file, as almost all are.")
            self._fail(
                f"has the GGUF version {version}, not 2 or 3", "Convert the model again with llama.cpp."
            )
        tensor_count = self._count("tensors", minimum_bytes=24)
        entry_count = self._count("metadata entries", minimum_bytes=13)
        metadata: dict[str, Any] = {}
        for _ in range(entry_count):
            key = self._text("the key of a metadata entry")
            if key in metadata:
                self._fail(f"has two metadata entries '{key[:80]}'")
            metadata[key] = self._value(self._number("I", f"the type of '{key[:80]}'"), key)
        return GgufHeader(self._path, metadata, self._tensors(tensor_count, metadata))

    def _tensors(self, count: int, metadata: dict[str, Any]) -> tuple[TensorInfo, ...]:
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20 or alignment & (alignment - 1):
            self._fail(f"has general.alignment {alignment!r}, not a power of two up to 1,048,576")
        tensors = [self._tensor() for _ in range(count)]
        if len({tensor.name for tensor in tensors}) != count:
            self._fail("has two tensors of the same name")
        start = (self._at + alignment - 1) // alignment * alignment
        end = 0
        for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
            if tensor.offset % alignment:
                self._fail(
                    f"has tensor '{tensor.name[:80]}' at offset {tensor.offset:,}, not a multiple of {alignment}"
                )
            if tensor.offset < end:
                self._fail(f"has tensor '{tensor.name[:80]}' in the bytes of another tensor")
            end = tensor.offset + tensor.bytes
        if tensors and start + end > self._size:
            self._fail(f"is truncated: its tensors end at byte {start + end:,}, the file at {self._size:,}")
        return tuple(tensors)

    def _tensor(self) -> TensorInfo:
        name = self._text("the name of a tensor")
        shown = f"tensor '{name[:80]}'"
        dimensions = self._number("I", f"the dimensions of {shown}")
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            self._fail(f"has {dimensions} dimensions for {shown}, not 1 to {MAX_DIMENSIONS}")
        shape = tuple(self._number("Q", f"the shape of {shown}") for _ in range(dimensions))
        number = self._number("I", f"the type of {shown}")
        kind = GGML_TYPES.get(number)
        if kind is None:
            self._fail(f"stores {shown} in type {number}, which is unknown", "Quantize the model again.")
        tensor = TensorInfo(name, shape, kind, self._number("Q", f"the offset of {shown}"))
        if 0 in shape or shape[0] % kind.block_elements:
            self._fail(
                f"has the shape {list(shape)} for {shown}, but rows of {kind.name} are multiples of "
                f"{kind.block_elements}"
            )
        return tensor

    def _value(self, kind: int, key: str) -> Any:
        shown = f"'{key[:80]}'"
        if kind in _SCALARS:
            return self._number(_SCALARS[kind], shown)
        if kind == _STRING:
            return self._text(shown, kept=True)
        if kind != _ARRAY:
            self._fail(f"has the unknown type {kind} for {shown}")
        kind = self._number("I", f"the type of the elements of {shown}")
        if kind == _STRING:
            count = self._count(f"elements of {shown}", minimum_bytes=8, limit=self._strings_left)
            self._strings_left -= count
            for _ in range(count):
                self._skip(self._number("Q", f"a length in {shown}"), f"a text in {shown}")
            return LongArray(count)
        if kind not in _SCALARS:
            self._fail(f"has an array of type {kind} for {shown}, which is not supported")
        form = _SCALARS[kind]
        size = struct.calcsize("<" + form)
        count = self._count(f"elements of {shown}", minimum_bytes=size, limit=None)
        if count > self._elements_left:
            self._skip(count * size, shown)
            return LongArray(count)
        self._elements_left -= count
        return [self._number(form, shown) for _ in range(count)]

    def _count(self, what: str, *, minimum_bytes: int, limit: int | None = MAX_ENTRIES) -> int:
        """Return the next 64-bit count, of which each item has at least ``minimum_bytes``."""
        count: int = self._number("Q", f"the number of {what}")
        room = (self._size - self._at) // minimum_bytes
        if count > room or (limit is not None and count > limit):
            self._fail(f"declares {count:,} {what}, but at most {min(room, limit or room):,} are possible")
        return count

    def _text(self, what: str, *, kept: bool = False) -> str:
        """Return the next text. A value (``kept``) may be longer than ``MAX_KEPT_TEXT`` and is then cut, as chat
        templates are."""
        length: int = self._number("Q", f"the length of {what}")
        if not kept and length > MAX_KEPT_TEXT:
            self._fail(f"declares {length:,} bytes for {what}, more than {MAX_KEPT_TEXT:,}")
        start = self._at
        self._skip(length, what)
        return bytes(self._data[start : start + min(length, MAX_KEPT_TEXT)]).decode("utf-8", "replace")

    def _number(self, form: str, what: str) -> Any:
        start = self._at
        self._skip(struct.calcsize("<" + form), what)
        return struct.unpack_from("<" + form, self._data, start)[0]

    def _skip(self, size: int, what: str) -> None:
        if size > self._size - self._at:
            self._fail(f"is truncated: {what} needs {size:,} bytes at byte {self._at:,} of {self._size:,}")
        self._at += size

    def _fail(self, problem: str, hint: str = _HINT) -> NoReturn:
        raise ModelError(f"{self._path.name} {problem}.", hint)
