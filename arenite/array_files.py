"""Read NumPy files without trusting the sizes that they state."""

from __future__ import annotations

import errno
import os
import tokenize
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from arenite.archive_errors import ARCHIVE_ERRORS
from arenite.input_files import check_is_file

#: An archive may expand to ``FREE_BYTES`` or to ``MAX_RATIO`` times its own size, whichever is larger. Compression
#: shrinks measured samples to a half or a tenth of their size; zlib can shrink zeros to a thousandth.
FREE_BYTES = 256 << 20
MAX_RATIO = 32

#: The share of the computer's memory that the arrays of a file may take.
MEMORY_SHARE = 0.75


def read_arrays(path: str | Path, only: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file by name. With ``only``, arrays of other names are not read.

    Sizes are checked before any array is expanded, and pickled objects are not loaded. Raises ``OSError`` if the file
    cannot be read, and ``ValueError`` with one sentence for a damaged file or one that would take too much memory.
    """
    with _archive(path) as (archive, size):
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        if only is not None:
            members = [m for m in members if m.filename.removesuffix(".npy") in only]
        total = sum(member.file_size for member in members)
        if total > max(FREE_BYTES, MAX_RATIO * size):
            raise ValueError(
                f"its {size:,} bytes expand to {total:,} bytes, a higher ratio than that of compressed samples; "
                "write it with numpy.savez, without compression"
            )
        _check_memory(total)
        arrays = {}
        for member in members:
            with archive.open(member) as file:
                _check_header(file, member.file_size, member.filename)
            with archive.open(member) as file:
                arrays[member.filename.removesuffix(".npy")] = npy.read_array(file, allow_pickle=False)
        return arrays


def read_array_names(path: str | Path) -> list[str]:
    """Return the names of the arrays in an ``.npz`` file. Raises the errors of ``read_arrays``."""
    with _archive(path) as (archive, _):
        return [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]


def read_array_shapes(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an ``.npz`` file by name, without reading the arrays.

    Raises the errors of ``read_arrays``, also for arrays of Python objects.
    """
    shapes = {}
    with _archive(path) as (archive, _):
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with archive.open(member) as file:
                    shape, dtype = _check_header(file, member.file_size, member.filename)
                if dtype.hasobject:
                    raise ValueError("Object arrays cannot be loaded")
                shapes[member.filename.removesuffix(".npy")] = shape
    return shapes


def read_array(path: str | Path) -> np.ndarray:
    """Return the array of an ``.npy`` file. Raises the same errors as ``read_arrays``."""
    check_is_file(path)
    with _one_error(), Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        _check_memory(size)
        _check_header(file, size, str(path))
        file.seek(0)
        array: np.ndarray = npy.read_array(file, allow_pickle=False)
        return array


@contextmanager
def _archive(path: str | Path) -> Iterator[tuple[zipfile.ZipFile, int]]:
    """Open an ``.npz`` file. Yield the archive, and the size of the file in bytes. Raises the errors of
    ``read_arrays``."""
    check_is_file(path)
    with _one_error(), Path(path).open("rb") as stream, zipfile.ZipFile(stream) as archive:
        yield archive, os.fstat(stream.fileno()).st_size


class _one_error:
    """A context manager that turns the errors of damaged archives and arrays into ``ValueError``."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        damaged = (
            *ARCHIVE_ERRORS,
            TypeError,
            KeyError,
            SyntaxError,
            tokenize.TokenError,  # NumPy does not catch it when it parses a header
        )
        if isinstance(error, damaged):
            raise ValueError(str(error) or "the file is cut off") from error
        # The archive gives an offset before the start of the file, so seeking to it failed.
        if isinstance(error, OSError) and error.errno == errno.EINVAL:
            raise ValueError("the archive is damaged") from error
        if isinstance(error, (MemoryError, OverflowError)):
            raise ValueError("its arrays do not fit into memory") from error


def _check_memory(size: int) -> None:
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if size > MEMORY_SHARE * memory:
            raise ValueError(
                f"its arrays take {size:,} bytes, and this computer has {memory:,} bytes of memory"
            )


def _check_header(file: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and type in the header of an array.

    Raises ``ValueError`` if the header states more bytes than the ``size`` bytes of the array's file.
    """
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    count = 1
    for length in shape:
        count *= length
    # The size of Python objects is unknown. ``npy.read_array`` refuses them later.
    if not dtype.hasobject and (count * dtype.itemsize > size or any(length < 0 for length in shape)):
        raise ValueError(f"{name} states the shape {shape}, but it has only {size:,} bytes")
    return tuple(shape), dtype
