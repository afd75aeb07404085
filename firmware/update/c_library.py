"""Get a C library from a pinned source package. No file of the library is in this repository.

The package is downloaded once, and the files that are needed are kept in the cache. The hash of each file is pinned
too, so it does not matter which of several packages they came from.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory, cache_error, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import Package
from arenite.models.named_package import identify_package


@dataclass(frozen=True)
class SourcePackage:
    """A package that contains the library."""

    package: Package
    file: str  # name of the package's file
    folder: str  # of the library in the package


@dataclass(frozen=True)
class CLibrary:
    """A C library."""

    name: str
    packages: tuple[SourcePackage, ...]  # in the order in which they are tried
    variable: str  # of the environment: the path of a package that was downloaded before
    files: Mapping[str, str]  # hash of each file
    written: Mapping[str, str] = field(
        default_factory=dict
    )  # text of files that are added to those of the library


def library_folder(library: CLibrary, archive: Path | None = None, *, progress: bool = True) -> Path:
    """Return the folder in the cache that contains the files of ``library``.

    If it does not have them, they are read from ``archive``, by default from the file that ``library.variable``
    names, or else from a download.

    Raises:
        ToolError: The package could not be downloaded, or the cache cannot be written.
        UsageError: ``archive`` is not a pinned package.
    """
    pins = "".join(f"{name}\0{pin}\0" for name, pin in {**library.files, **library.written}.items())
    digest = hashlib.sha256(pins.encode()).hexdigest()
    folder = cache_directory() / "libraries" / f"{library.name}-{digest[:12]}"
    if all(_has_hash(folder / name, pin) for name, pin in library.files.items()) and all(
        _has_hash(folder / name, hashlib.sha256(text.encode()).hexdigest())
        for name, text in library.written.items()
    ):
        return folder
    variable = os.environ.get(library.variable)
    named = archive or (Path(variable).expanduser() if variable else None)
    try:
        if named is not None:
            _unpack(library, _identify(library, named), named, folder)
        else:
            _download(library, folder, progress)
        for name, text in library.written.items():
            replace_file(folder / name, text.encode())
    except OSError as error:
        raise cache_error(error) from error
    return folder


def _download(library: CLibrary, folder: Path, progress: bool) -> None:
    """Unpack the first package that can be downloaded. Raises ``ToolError`` if none can."""
    errors: list[ToolError] = []
    for source in library.packages:
        try:
            with download_package(source.package, cache_directory(), progress) as package:
                _unpack(library, source, package, folder)
            return
        except ToolError as error:
            errors.append(error)
    first = library.packages[0]
    registry = "the package index of pip" if first.package.registry == "sdist" else "the proxy (https_proxy)"
    raise ToolError(
        errors[0].problem,
        f"Check the network and {registry}, or download {first.file} on another computer and set {library.variable} "
        "to its path.",
    ) from errors[0]


def _identify(library: CLibrary, archive: Path) -> SourcePackage:
    """Return the package that ``archive`` is. Raises ``UsageError`` if it is none of the library's."""
    sources = {source.package: source for source in library.packages}
    return sources[identify_package(archive, list(sources), library.variable, "source package")]


def _unpack(library: CLibrary, source: SourcePackage, archive: Path, folder: Path) -> None:
    """Write the files of the library into ``folder``. Raises ``ToolError`` and ``OSError``."""
    for name, digest in library.files.items():
        data = read_member(archive, [f"{source.folder}/{name}"])
        if hashlib.sha256(data).hexdigest() != digest:
            raise ToolError(f"{name} in {archive.name} differs from the pinned file.", "Download it again.")
        replace_file(folder / name, data)


def _has_hash(path: Path, digest: str) -> bool:
    """Return whether ``path`` is a file with the SHA-256 ``digest``."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
