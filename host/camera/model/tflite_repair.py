"""Repair model files that contain errors of old converters, for runtimes that refuse such files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from arenite.errors import ModelError


def repaired_copy(path: Path) -> tuple[Path, tuple[str, ...]] | None:
    """Return the path of a repaired copy with the same weights and operators, and a sentence about each repair.

    The copy is in the cache folder. Return None if the file needs no repair, or if it cannot be read at all.
    """
    from arenite.converters.tflite.reader import parse
    from arenite.converters.tflite.writer import to_flatbuffer
    from arenite.files import cache_directory, replace_file

    data = path.read_bytes()
    try:
        model = parse(data)
    except ModelError:
        return None
    if not model.repairs:
        return None
    target = cache_directory() / "mended" / f"{hashlib.sha256(data).hexdigest()[:16]}.tflite"
    if not target.is_file():
        replace_file(target, to_flatbuffer(model))
    return target, tuple(map(str, model.repairs))
