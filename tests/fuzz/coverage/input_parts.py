"""Build valid files around the bytes of a fuzzer, so that these bytes reach the code behind checksums and syntax.

An image is a converted .tflite model. It contains a record: JSON text with the arena plan and other metadata.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache

from arenite.converters.tflite.image import image_bytes, to_flatbuffer
from tests.converters import small_models

_PNG = b"\x89PNG\r\n\x1a\n"


@cache
def tflite_model() -> bytes:
    """Return a valid model for pictures."""
    return to_flatbuffer(small_models.conv_net())


def archive(contents: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of files with these names and contents."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in contents.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


@cache
def _image_with_empty_record() -> tuple[bytes, bytes]:
    """Return the bytes of an image before and after a value of ``_RECORD_BYTES`` bytes in its record."""
    extra = {"record": _MARK.decode() * (_RECORD_BYTES // len(_MARK))}
    before, _, rest = image_bytes(small_models.conv_net(), None, extra=extra).partition(_MARK)
    return before, rest.rpartition(_MARK)[2]


_MARK = b"<record>"
_RECORD_BYTES = 1024


def image_with_record(text: bytes) -> bytes:
    """Return an image whose record has JSON ``text`` as the value of ``extra``, if it is not too long."""
    before, after = _image_with_empty_record()
    # The record is '... "extra": {"record": "<record><record>..."} ...', with a fixed number of bytes in the image.
    begin = before.rindex(b'{"record"')
    end = after.index(b"}") + 1
    room = len(before) - begin + _RECORD_BYTES + end
    return before[:begin] + text[:room].ljust(room) + after[end:]


def with_valid_crcs(data: bytes) -> bytes:
    """Return the PNG file ``data`` with the right CRC in each of its chunks. Return another file unchanged."""
    if not data.startswith(_PNG):
        return data
    out, at = bytearray(data), len(_PNG)
    while at + 12 <= len(out):
        end = at + 8 + int.from_bytes(out[at : at + 4], "big")
        if end + 4 > len(out):
            break
        out[end : end + 4] = zlib.crc32(out[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(out)


def with_changed_values(lines: Sequence[bytes], changes: bytes) -> bytes:
    """Return the file of ``lines`` with other values. ``changes`` is a sequence of changes: the number of a line (1
    byte), the length of the new value (1 byte), and the value, which replaces the text after the line's first "=" or
    ": "."""
    changed = list(lines)
    at = 0
    while at + 2 <= len(changes):
        number, length = changes[at] % len(changed), changes[at + 1]
        line, value = changed[number], changes[at + 2 : at + 2 + length]
        mark = b"=" if b"=" in line else b": "
        comma = b"," if line.endswith(b",") else b""
        changed[number] = line.partition(mark)[0] + mark + value + comma
        at += 2 + length
    return b"\n".join(changed)


def indented(record: object) -> bytes:
    """Return JSON text with one value per line, for ``with_changed_values``."""
    return json.dumps(record, indent=1).encode()
