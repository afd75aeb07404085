"""Compare the sizes that a source states with the size of its file, before a framework reserves memory for them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.outline import Outline, value_count
from arenite.converters.importers.subprocesses.size_limits import HINT, MAX_VALUES, max_expanded_bytes
from arenite.errors import ModelError

#: The kinds of sources whose weights are in the source's own files.
_WITH_WEIGHTS = (
    source_kinds.KERAS,
    source_kinds.KERAS_H5,
    source_kinds.SAVED_MODEL,
    source_kinds.TORCH_EXPORT,
)
_FLOAT_BYTES = 4


def check_stated_sizes(source: str, kind: str, outline: Outline) -> None:
    """Raise ``ModelError`` if the weights of ``outline``, or one of its inputs or outputs, are too large for the files
    of ``source``."""
    if kind in _WITH_WEIGHTS and outline.weights:
        stated, limit = outline.weights * _FLOAT_BYTES, max_expanded_bytes(_file_bytes(Path(source)))
        if stated > limit:
            raise ModelError(
                f"{source} states {outline.weights:,} weights, which would take {stated:,} bytes of memory; the limit "
                f"for a file of its size is {limit:,}.",
                HINT,
            )
    for tensor in (*(outline.inputs or ()), *(outline.outputs or ())):
        check_values(source, f"'{tensor.name}'", (size for size in tensor.shape or () if size is not None))


def check_values(source: str, tensor: str, sizes: Iterable[int]) -> None:
    """Raise ``ModelError`` if the tensor with the name ``tensor`` and the dimensions ``sizes`` has more than
    ``MAX_VALUES`` values. Raises ``ValueError`` if it has an impossible number."""
    count = value_count(sizes)
    if count > MAX_VALUES:
        raise ModelError(
            f"{source}: tensor {tensor} has {count:,} values; the limit is {MAX_VALUES:,}.", HINT
        )


def _file_bytes(path: Path) -> int:
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
