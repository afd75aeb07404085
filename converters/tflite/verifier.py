"""Decode a flatbuffer from an untrusted file. Every offset is checked before it is followed.

``decode`` reads the tables that ``schema_tables.py`` describes and returns them as plain dictionaries, so that no other
code reads the bytes. It guarantees that every table, vector and string is inside the file and aligned as the format
demands; that strings end in a zero byte; and that enumerations and union types have a known value. Time and memory are
limited by the size of the file, even if many offsets lead to the same place.

The format of flatbuffers: a table starts with a signed 32-bit distance back to its vtable. The vtable has the size of
the vtable and the size of the table (16 bits each), and one 16-bit offset per field, which is 0 for an absent field. A
field that is a string, a vector or a table holds the unsigned 32-bit distance forward from the field to its content.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from arenite.converters.tflite.schema_tables import ENUMS, SCHEMA, UNIONS
from arenite.errors import ModelError, UnsupportedModelError

#: The maximum size of a file, because distances in the format have 31 bits.
MAX_FILE_BYTES = 2**31 - 1
#: The maximum number of tables in a file.
MAX_TABLES = 200_000
#: The maximum number of scalars, characters and offsets in all vectors and strings of a file, except byte vectors.
MAX_ELEMENTS = 4_000_000

_HINT = "The file is damaged or is not a TFLite model: convert or download it again."
_CODES = {
    "bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I",
    "i64": "q", "u64": "Q", "f32": "f", "f64": "d",
}  # fmt: skip

# The kinds of fields.
_SCALAR, _ENUM, _STRING, _TABLE, _UNION, _SCALARS, _BYTES, _STRINGS, _TABLES = range(9)


@dataclass(frozen=True)
class _Field:
    """One field of a table."""

    name: str
    kind: int
    width: int  # bytes that the field takes in its table: the size of the scalar, or 4 for a distance
    item: int = 0  # bytes of one element of a scalar vector
    code: struct.Struct | str | None = None  # format of the scalar, or format letter of a vector's elements
    target: str = ""  # name of the table, union or enumeration
    limit: int = 0  # number of values of an enumeration


class MalformedFlatbuffer(Exception):
    """A table is malformed. ``path`` is the place of the error from the inside to the outside: the field, then the
    tables that contain it. It grows while the error propagates."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str | int] = []


def decode(data: bytes | memoryview, root: str = "Model", identifier: bytes = b"TFL3") -> dict[str, Any]:
    """Return the root table of ``data`` as nested dictionaries with all fields. Absent fields have their defaults.

    ``root`` is the name of the root table, ``identifier`` the expected bytes 4 to 7 of the file. Scalars are ``int``,
    ``float`` or ``bool``; strings are ``str``, with invalid UTF-8 replaced. Byte vectors are ``memoryview`` of
    ``data``, other scalar vectors are tuples, and vectors of tables are lists. Absent strings, vectors and tables are
    None. A union field has the dictionary of the table that it holds; the field before it has the number of this
    table in the union.

    Raises ``ModelError``, which names the table and the field, and no other error for any ``data``.
    """
    if len(data) > MAX_FILE_BYTES:
        raise UnsupportedModelError(
            f"The file has {len(data):,} bytes; a flatbuffer can have at most {MAX_FILE_BYTES:,}.",
            "Use a smaller or a quantized model.",
        )
    if len(data) < 8:
        raise ModelError(f"The file has only {len(data)} bytes: too short for a TFLite model.", _HINT)
    if data[4:8] != identifier:
        actual = bytes(data[4:8])
        raise ModelError(
            f"The file identifier is {actual!r}, expected {identifier!r} at byte 4.",
            "Give a TensorFlow Lite (.tflite) file.",
        )
    try:
        return _Decoder(data).table(_root(data), root)
    except MalformedFlatbuffer as error:
        raise ModelError(f"{describe_path(error.path[::-1])}: {error.problem}.", _HINT) from None


def describe_path(path: list[str | int]) -> str:
    """Return a decoder path as text: ``["subgraphs", 0, "tensors", 12, "quantization", "scale"]`` becomes "Subgraph 0,
    tensor 12, field quantization.scale"."""
    parts: list[str] = []
    fields: list[str] = []
    for step in path:
        if isinstance(step, int):
            name = fields.pop()
            if fields:
                parts.append("field " + ".".join(fields))
                fields = []
            parts.append(f"{_SINGULAR.get(name, name + ' entry')} {step}")
        else:
            fields.append(step)
    if fields:
        parts.append("field " + ".".join(fields))
    text = ", ".join(parts) or "Root table"
    return "Model, " + text if text.startswith("field") else text


_SINGULAR = {
    "subgraphs": "Subgraph", "tensors": "tensor", "operators": "operator", "operator_codes": "Operator code",
    "buffers": "Buffer", "metadata": "Metadata entry", "signature_defs": "Signature",
    "external_buffers": "External buffer", "external_buffer_groups": "External buffer group",
    "inputs": "input", "outputs": "output",
}  # fmt: skip


def _root(data: bytes | memoryview) -> int:
    return int.from_bytes(data[:4], "little")


def _parse_schema(text: str) -> dict[str, tuple[_Field | None, ...]]:
    """Return {table: its fields} for the text of ``schema_tables.SCHEMA``. A slot that is not used is None. The
    defaults of the fields are stored in ``_DEFAULTS``."""
    tables: dict[str, tuple[_Field | None, ...]] = {}
    defaults: dict[str, dict[str, Any]] = {}
    joined_lines: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            joined_lines[-1] += line
        else:
            joined_lines.append(line)
    names = {line.split()[0] for line in joined_lines}
    for line in joined_lines:
        table, *fields = line.split()
        entries = [None if f == "-" else _field(f, names) for f in fields]
        tables[table] = tuple(m[0] if m else None for m in entries)
        defaults[table] = {m[0].name: m[1] for m in entries if m}
    _DEFAULTS.update(defaults)
    return tables


def _field(text: str, tables: set[str]) -> tuple[_Field, Any]:
    """Return the field that ``text`` describes (``name:type`` or ``name:type=default``), and its default."""
    name, _, rest = text.partition(":")
    kind, _, default = rest.partition("=")
    if kind in _CODES:
        code = struct.Struct("<" + _CODES[kind])
        value: Any = False if kind == "bool" else 0.0 if kind[0] == "f" else 0
        return _Field(name, _SCALAR, code.size, code=code), type(value)(int(default)) if default else value
    if kind in ENUMS:
        storage, count = ENUMS[kind]
        code = struct.Struct("<" + _CODES[storage])
        return _Field(name, _ENUM, code.size, code=code, target=kind, limit=count), int(default or 0)
    if kind == "string":
        return _Field(name, _STRING, 4), None
    if kind in tables:
        return _Field(name, _TABLE, 4, target=kind), None
    if kind.startswith("<"):
        return _Field(name, _UNION, 4, target=kind[1:-1]), None
    inner = kind[1:-1]
    if inner == "u8":
        return _Field(name, _BYTES, 4), None
    if inner in _CODES:
        letter = _CODES[inner]
        return _Field(name, _SCALARS, 4, item=struct.calcsize(letter), code=letter), None
    return _Field(name, _TABLES, 4, target=inner), None


_DEFAULTS: dict[str, dict[str, Any]] = {}
_FIELDS = _parse_schema(SCHEMA)


def defaults_of(table: str) -> dict[str, Any]:
    """Return a new dictionary for the table called ``table``, with the schema's default for every field. Raises
    ``KeyError`` for an unknown table."""
    return dict(_DEFAULTS[table])


class _Decoder:
    """Decodes one file. ``tables_left``, ``elements_left`` and ``bytes_left`` limit the work: they are the numbers of
    tables, vector elements and bytes of byte vectors that may still be decoded."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = data
        self.view = memoryview(data)
        self.size = len(data)
        # A table takes at least 8 bytes of the file, unless several fields share it. 64 more are allowed for tiny
        # files.
        self.tables_left = min(MAX_TABLES, self.size // 8 + 64)
        self.elements_left = min(MAX_ELEMENTS, self.size + 1024)
        self.bytes_left = 2 * self.size

    def table(self, at: int, name: str) -> dict[str, Any]:
        """Return the fields of the table called ``name`` at position ``at`` of the file. Raises ``MalformedFlatbuffer``
        with the path from this table to the error."""
        self.tables_left -= 1
        if self.tables_left < 0:
            raise MalformedFlatbuffer("the tables are shared too often for a file of this size")
        slots, table_size = self._vtable(at)
        out = dict(_DEFAULTS[name])
        fields = _FIELDS[name]
        for field, offset in zip(fields, slots, strict=False):
            if not offset or field is None:
                continue
            pos = at + offset
            width = field.width
            try:
                if offset < 4 or offset + width > table_size:
                    raise MalformedFlatbuffer(f"is outside its table (offset {offset} of {table_size} bytes)")
                if pos % width:
                    raise MalformedFlatbuffer(f"is not aligned to {width} bytes (position {pos})")
                out[field.name] = self._value(field, pos, out)
            except MalformedFlatbuffer as error:
                error.path.append(field.name)
                raise
        return out

    def _vtable(self, at: int) -> tuple[tuple[int, ...], int]:
        """Return the offsets of the fields of the table at ``at``, and the size of the table in bytes."""
        data, size = self.data, self.size
        if at < 8 or at % 4 or at + 4 > size:
            raise MalformedFlatbuffer(
                f"the table's position {at} is outside the file ({size} bytes) or not aligned"
            )
        vtable = at - _I32.unpack_from(data, at)[0]
        if vtable < 4 or vtable % 2 or vtable + 4 > size:
            raise MalformedFlatbuffer(
                f"the vtable's position {vtable} is outside the file ({size} bytes) or odd"
            )
        vtable_size, table_size = _SIZES.unpack_from(data, vtable)
        if vtable_size < 4 or vtable_size % 2 or vtable + vtable_size > size:
            raise MalformedFlatbuffer(f"the vtable's size {vtable_size} is wrong")
        if table_size < 4 or at + table_size > size:
            raise MalformedFlatbuffer(
                f"the table's size {table_size} is wrong or runs past the end of the file"
            )
        # No known table has more than ``_MAX_FIELDS`` fields. Fields that only newer schemas have are ignored.
        count = min((vtable_size - 4) // 2, _MAX_FIELDS)
        return struct.unpack_from(f"<{count}H", data, vtable + 4), table_size

    def _value(self, field: _Field, pos: int, out: dict[str, Any]) -> Any:
        """Return the value of ``field`` at position ``pos`` of the file. ``out`` has the earlier fields of the
        table."""
        kind = field.kind
        if kind == _SCALAR:
            return field.code.unpack_from(self.data, pos)[0]  # type: ignore[union-attr]
        if kind == _ENUM:
            value = field.code.unpack_from(self.data, pos)[0]  # type: ignore[union-attr]
            if not 0 <= value < field.limit:
                raise MalformedFlatbuffer(f"is {value}, expected 0 to {field.limit - 1} ({field.target})")
            return value
        target = pos + _U32.unpack_from(self.data, pos)[0]
        if kind == _TABLE:
            return self.table(target, field.target)
        if kind == _UNION:
            return self._union(field, target, out)
        if target % 4 or target + 4 > self.size:
            raise MalformedFlatbuffer(
                f"its position {target} is outside the file ({self.size} bytes) or not aligned"
            )
        count = _U32.unpack_from(self.data, target)[0]
        start = target + 4
        if kind == _STRING:
            return self._string(start, count)
        item = field.item or (1 if kind == _BYTES else 4)
        if count * item > self.size - start:
            raise MalformedFlatbuffer(
                f"its {count} elements run past the end of the file ({self.size} bytes)"
            )
        if kind == _BYTES:
            self.bytes_left -= count
            if self.bytes_left < 0:
                raise MalformedFlatbuffer("the byte vectors are shared too often for a file of this size")
            return self.view[start : start + count]
        self._spend(count)
        if kind == _SCALARS:
            # Some vendors' tools align 64-bit elements only to 4 bytes, and LiteRT runs their files.
            if start % min(item, 4):
                raise MalformedFlatbuffer(
                    f"its elements are not aligned to {min(item, 4)} bytes (position {start})"
                )
            return struct.unpack_from(f"<{count}{field.code}", self.data, start)
        return self._tables(start, count, field.target)

    def _tables(self, start: int, count: int, name: str) -> list[dict[str, Any]]:
        """Return the ``count`` tables called ``name`` of the vector whose first element is at ``start``."""
        entries = []
        index = 0
        try:
            for offset in struct.unpack_from(f"<{count}I", self.data, start):
                entries.append(self.table(start + 4 * index + offset, name))
                index += 1
        except MalformedFlatbuffer as error:
            error.path.append(index)
            raise
        return entries

    def _union(self, field: _Field, target: int, out: dict[str, Any]) -> dict[str, Any] | None:
        """Return the table at ``target``, whose kind the earlier field ``NAME_type`` of ``out`` states."""
        members = UNIONS[field.target]
        number = out[field.name + "_type"]
        if number == 0:
            return None
        if number > len(members):
            raise MalformedFlatbuffer(
                f"has the unknown type {number}, expected 1 to {len(members)} ({field.target})"
            )
        return self.table(target, members[number - 1])

    def _string(self, start: int, count: int) -> str:
        if count + 1 > self.size - start:
            raise MalformedFlatbuffer(f"the string of {count} characters runs past the end of the file")
        self._spend(count)
        if self.data[start + count]:
            raise MalformedFlatbuffer("the string does not end in a zero byte")
        return bytes(self.data[start : start + count]).decode("utf-8", "replace")

    def _spend(self, count: int) -> None:
        """Count ``count`` vector elements. Raises ``MalformedFlatbuffer`` if the limit is exceeded."""
        self.elements_left -= count
        if self.elements_left < 0:
            raise MalformedFlatbuffer(
                "the vectors are shared too often, or are too long, for a file of this size"
            )


_I32 = struct.Struct("<i")
_U32 = struct.Struct("<I")
_SIZES = struct.Struct("<HH")
_MAX_FIELDS = max(len(fields) for fields in _FIELDS.values())
