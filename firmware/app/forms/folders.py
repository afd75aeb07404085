"""The folders of an application, and its sources as build files list them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: The folders with headers.
INCLUDES = ("src", "lib/app", "lib/model", "lib/board")
_SUFFIXES = (".c", ".cpp", ".S")


def sources_of(files: Iterable[str]) -> list[str]:
    """Return the sources among ``files``, sorted."""
    return sorted(name for name in files if name.endswith(_SUFFIXES))


def cmake_rows(paths: Sequence[str], prefix: str = "") -> str:
    """Return one line of CMake text for each path, after ``prefix``."""
    return "\n".join(f'    "{prefix}{path}"' for path in paths)
