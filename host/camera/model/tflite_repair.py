"""A model that old converters wrote wrongly, as the reader mends it: for runtimes that refuse the file as it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

from arenite.errors import ModelError


def repaired_copy(path: Path) -> tuple[Path, tuple[str, ...]] | None:
    """A copy in the cache whose weights and operators are the same, and what was mended in it, in words.

    None when the reader finds nothing to mend, or does not read the file either.
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
