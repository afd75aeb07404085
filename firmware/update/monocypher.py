"""Get Monocypher, the C library whose arithmetic checks Ed25519 signatures, from its pinned source package.

This repository contains no file of the library. The package is downloaded once, and its two C files are kept in the
cache. On a computer without a network, set ``ARENITE_MONOCYPHER`` to the path of the package.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import Package

#: The package on the Python package index. It is a source archive. pip runs its setup.py to read the metadata, after it
#: has checked the hash.
PACKAGE = Package(
    name="pymonocypher",
    version="4.0.3.4",
    sha256="5e56e3d3eb770a53e0b9f6274146663c11a11f3d0de5cd48e3be0428d1b07a4a",
    bytes=473285,
    licence="BSD-2-Clause OR CC0-1.0",
    url="https://pypi.org/project/pymonocypher/4.0.3.4/",
    pip=("--no-binary=:all:",),
)
#: The name of a variable of the environment with the path of a package that was downloaded before.
VARIABLE = "ARENITE_MONOCYPHER"
#: The hash of each C file.
FILES = {
    "monocypher.c": "57eb914fc88136119bd41655cccb8c250048bf54d470540625186f8ab16f64be",
    "monocypher.h": "c494da712122da7ff679fdcf318a5317e84972b6c950fe9d896212947797facd",
}


def monocypher_folder(archive: Path | None = None, *, progress: bool = True) -> Path:
    """Return the folder in the cache that contains ``monocypher.c`` and ``monocypher.h``.

    If it does not have them, they are read from ``archive``, by default from the file that ``ARENITE_MONOCYPHER``
    names, or else from a download.

    Raises:
        ToolError: The package could not be downloaded, or the cache cannot be written.
        UsageError: ``archive`` is not the pinned package.
    """
    folder = cache_directory() / "libraries" / f"monocypher-{PACKAGE.sha256[:12]}"
    if all(_is_pinned(folder / name, digest) for name, digest in FILES.items()):
        return folder
    named = archive or (Path(os.environ[VARIABLE]).expanduser() if os.environ.get(VARIABLE) else None)
    try:
        if named is not None:
            _check_package(named)
            _unpack(named, folder)
        else:
            with download_package(PACKAGE, cache_directory(), progress) as package:
                _unpack(package, folder)
    except ToolError as error:
        if named is not None:
            raise
        file = f"{PACKAGE.name}-{PACKAGE.version}.tar.gz"
        raise ToolError(
            error.problem,
            f"Check the network and the package index of pip, or download {file} on another computer and set "
            f"{VARIABLE} to its path.",
        ) from error
    except OSError as error:
        raise ToolError(
            f"Cannot write to the cache {cache_directory()}: {error.strerror or error}.",
            "Set ARENITE_CACHE to a writable folder.",
        ) from error
    return folder


def _check_package(archive: Path) -> None:
    """Raise ``UsageError`` if ``archive`` is not the pinned package."""
    try:
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(
            f"Cannot read {archive}: {error.strerror or error}.",
            f"Set {VARIABLE} to the path of the package.",
        ) from error
    if digest != PACKAGE.sha256:
        raise UsageError(
            f"{archive} has the SHA-256 {digest[:12]}…; the source package of {PACKAGE.name} {PACKAGE.version} has "
            f"{PACKAGE.sha256[:12]}….",
            f"Download that file from {PACKAGE.url}.",
        )


def _unpack(archive: Path, folder: Path) -> None:
    """Write the C files of the package into ``folder``. Raises ``ToolError`` and ``OSError``."""
    for name, digest in FILES.items():
        data = read_member(archive, [f"{PACKAGE.name}-{PACKAGE.version}/{name}"])
        if hashlib.sha256(data).hexdigest() != digest:
            raise ToolError(f"{name} in {archive.name} differs from the pinned file.", "Download it again.")
        replace_file(folder / name, data)


def _is_pinned(path: Path, digest: str) -> bool:
    """Return whether ``path`` is a file with the SHA-256 ``digest``."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
