"""Build and load the C sources of ``converters/processing/c`` as a library for the host, with ctypes.

If Arenite was installed with a library that was built from exactly these sources, that library is used. Otherwise the
sources are compiled into the cache. If that fails, NumPy gives the same bytes more slowly, and ``unavailable_reason``
returns the reason.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
import os
from functools import cache
from pathlib import Path

from arenite.c_sources import SourceTree
from arenite.converters.processing.native.c_sources import PROCESSING
from arenite.processes import run as run_command

FLAGS = ("-std=c99", "-O3", "-fno-strict-overflow", "-fPIC", "-shared")


@cache
def digest() -> str:
    """Return the SHA-256 of the C sources. ``setup.py`` computes it in the same way."""
    return sources_digest(PROCESSING)


def sources_digest(tree: SourceTree) -> str:
    """Return the SHA-256 of the C sources and headers of a tree."""
    hasher = hashlib.sha256()
    for path in tree.paths(".c", ".h"):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()


@cache
def _find_library() -> tuple[ctypes.CDLL | None, str]:
    """Return the library, or None and the reason why there is none."""
    choice = os.environ.get("ARENITE_PROCESSING")
    if choice == "numpy":
        return None, "ARENITE_PROCESSING=numpy selects NumPy."
    for path in installed() if choice != "compile" else ():
        loaded = _load(path)
        if loaded is not None:
            return loaded, ""
    return _compile_into_cache()


def installed() -> list[Path]:
    """Return the paths of the libraries that were built when Arenite was installed."""
    return [
        PROCESSING.folder / f"_native{ending}"
        for ending in importlib.machinery.EXTENSION_SUFFIXES
        if (PROCESSING.folder / f"_native{ending}").is_file()
    ]


def library() -> ctypes.CDLL | None:
    """Return the library, or None if there is none; ``unavailable_reason`` then returns the reason."""
    return _find_library()[0]


def unavailable_reason() -> str:
    """Return the reason why there is no library, or "" if there is one."""
    return _find_library()[1]


def _load(path: Path) -> ctypes.CDLL | None:
    """Return the library at ``path``, or None if it was not built from these sources."""
    try:
        loaded = ctypes.CDLL(str(path))
        loaded.ar_processing_sources.restype = ctypes.c_char_p
        return loaded if loaded.ar_processing_sources() == digest().encode() else None
    except (OSError, AttributeError):
        return None


def _compile_into_cache() -> tuple[ctypes.CDLL | None, str]:
    from arenite.files import cache_directory

    target = cache_directory() / "processing" / f"{digest()[:16]}.so"
    if target.is_file():
        loaded = _load(target)
        if loaded is not None:
            return loaded, ""
    import subprocess

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        compile_library(target)
    except FileNotFoundError as error:
        return None, f"There is no C compiler ({error.filename}): install gcc, or set CC."
    except (OSError, subprocess.CalledProcessError) as error:
        text = getattr(error, "stderr", "") or str(error)
        return None, f"The C sources could not be compiled: {text.strip().splitlines()[0][:200]}"
    loaded = _load(target)
    return loaded, "" if loaded is not None else f"{target} cannot be loaded."


def compile_library(target: Path) -> None:
    """Compile the sources into ``target``. The file is created atomically."""
    compile_sources(PROCESSING, target, f'-DAR_SOURCES="{digest()}"')


def compile_sources(tree: SourceTree, target: Path, *definitions: str) -> None:
    """Compile the C sources of a tree into the library ``target``, which is created atomically. Raises ``OSError`` if
    there is no compiler, and ``CalledProcessError`` if it fails."""
    import tempfile

    handle, temporary = tempfile.mkstemp(suffix=".so", dir=target.parent)
    os.close(handle)
    try:
        names = [str(path) for path in tree.paths(".c")]
        command = [
            os.environ.get("CC", "cc"),
            *FLAGS,
            *tree.include_flags,
            *definitions,
            *names,
            "-o",
            temporary,
        ]
        run_command(command, check=True, capture_output=True, text=True)
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)
