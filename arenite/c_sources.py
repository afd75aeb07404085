"""Find C sources and headers in a folder tree by base name.

Kernels are in one folder for each family, but generated projects have them in one flat folder, and an ``#include``
names a header by its base name alone. Base names must therefore be unique in a tree.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from arenite.errors import UsageError


class SourceTree:
    """The C files (``.c``, ``.cpp``, ``.h``, ``.S``) below one or more folders. ``folder`` is the first one."""

    def __init__(self, folder: Path, *more: Path) -> None:
        self.folder = folder
        self._folders = (folder, *more)

    @cached_property
    def _paths(self) -> dict[str, Path]:
        paths: dict[str, Path] = {}
        for path in sorted(path for folder in self._folders for path in folder.rglob("*.*")):
            if path.suffix in (".c", ".cpp", ".h", ".S"):
                if path.name in paths:
                    raise UsageError(
                        f"Two C files are called {path.name}: {paths[path.name]} and {path}.", "Rename one."
                    )
                paths[path.name] = path
        return paths

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def path(self, name: str) -> Path:
        """Return the path of the file with the base name ``name``. Raises ``KeyError`` if there is none."""
        return self._paths[name]

    def read(self, name: str) -> str:
        """Return the text of the file with the base name ``name``. Raises ``KeyError`` if there is none."""
        return self._paths[name].read_text("utf-8")

    def paths(self, *endings: str) -> list[Path]:
        """Return the paths of all files whose suffix is one of ``endings`` (without ``endings``: of all files), sorted
        by base name."""
        return [path for name, path in sorted(self._paths.items()) if not endings or path.suffix in endings]

    @cached_property
    def include_flags(self) -> tuple[str, ...]:
        """One ``-I`` flag for each folder that contains headers."""
        return tuple(f"-I{folder}" for folder in sorted({path.parent for path in self.paths(".h")}))
