"""Find out which pinned package a file is that the user downloaded before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.models.manifest import Package


def identify_package(file: Path, packages: Sequence[Package], variable: str, kind: str) -> Package:
    """Return the package of ``packages`` that ``file`` is. ``variable`` is the variable of the environment that names
    such a file, and ``kind`` a noun for the packages. Raises ``UsageError`` if the file cannot be read, or is none of
    them."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(
            f"Cannot read {file}: {error.strerror or error}.",
            f"Set {variable} to the path of the {kind}, or leave it unset.",
        ) from error
    for package in packages:
        if package.sha256 == digest:
            return package
    first = packages[0]
    raise UsageError(
        f"{file} has the SHA-256 {digest[:12]}…; the {kind} of {first.name} {first.version} has "
        f"{first.sha256[:12]}….",
        f"Download that file from {first.url}, or leave {variable} unset.",
    )
