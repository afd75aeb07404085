"""Get Monocypher, the C library whose arithmetic checks Ed25519 signatures, from its pinned source package."""

from __future__ import annotations

from pathlib import Path

from arenite.firmware.update.c_library import CLibrary, SourcePackage, library_folder
from arenite.models.manifest import Package

#: The package on the Python package index. It is a source archive, of which nothing is run.
PACKAGE = Package(
    name="pymonocypher",
    version="4.0.3.4",
    sha256="5e56e3d3eb770a53e0b9f6274146663c11a11f3d0de5cd48e3be0428d1b07a4a",
    bytes=473285,
    licence="BSD-2-Clause OR CC0-1.0",
    url="https://pypi.org/project/pymonocypher/4.0.3.4/",
    pip=(),
    registry="sdist",
)
#: The name of a variable of the environment with the path of a package that was downloaded before.
VARIABLE = "ARENITE_MONOCYPHER"
#: The hash of each C file.
FILES = {
    "monocypher.c": "57eb914fc88136119bd41655cccb8c250048bf54d470540625186f8ab16f64be",
    "monocypher.h": "c494da712122da7ff679fdcf318a5317e84972b6c950fe9d896212947797facd",
}
MONOCYPHER = CLibrary(
    name="monocypher",
    packages=(SourcePackage(PACKAGE, "pymonocypher-4.0.3.4.tar.gz", "pymonocypher-4.0.3.4"),),
    variable=VARIABLE,
    files=FILES,
)


def monocypher_folder(archive: Path | None = None, *, progress: bool = True) -> Path:
    """Return the folder in the cache that contains ``monocypher.c`` and ``monocypher.h``.

    If it does not have them, they are read from ``archive``, by default from the file that ``ARENITE_MONOCYPHER``
    names, or else from a download.

    Raises:
        ToolError: The package could not be downloaded, or the cache cannot be written.
        UsageError: ``archive`` is not the pinned package.
    """
    return library_folder(MONOCYPHER, archive, progress=progress)
