"""Build the C sources of pre- and postprocessing, decisions and the anomaly head as a library for the host.

All other settings are in pyproject.toml.

The library is a plain shared library that ctypes loads. Without a C compiler, the package is installed without it, and
uses NumPy code that gives the same bytes.
"""

import hashlib
import sys
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent
#: The folders of ``arenite.converters.processing.native.c_sources.PROCESSING``.
FOLDERS = [ROOT / "arenite" / "converters" / part / "c" for part in ("processing", "decision", "anomaly")]

if (ROOT / "arenite" / "converters").is_file():
    sys.exit(
        "This checkout has no symbolic links: arenite/converters is a plain file. "
        "Run `git config core.symlinks true`, then `git checkout -- arenite`."
    )

#: Sorted by base name, as ``arenite.c_sources.SourceTree`` sorts them.
SOURCES = sorted((path for folder in FOLDERS for path in folder.rglob("*.c")), key=lambda path: path.name)
HEADERS = sorted((path for folder in FOLDERS for path in folder.rglob("*.h")), key=lambda path: path.name)


def digest() -> str:
    """Return the hash of the sources, as ``arenite.converters.processing.native.library`` computes it."""
    sha256 = hashlib.sha256()
    for path in sorted([*SOURCES, *HEADERS], key=lambda path: path.name):
        sha256.update(path.name.encode() + b"\0" + path.read_bytes())
    return sha256.hexdigest()


def relative(path: Path) -> str:
    """Return a path relative to this file with forward slashes, as setuptools requires."""
    return path.relative_to(ROOT).as_posix()


setup(
    ext_modules=[
        Extension(
            "arenite.converters.processing.c._native",
            sources=[relative(path) for path in SOURCES],
            depends=[relative(path) for path in HEADERS],
            include_dirs=sorted({relative(path.parent) for path in HEADERS}),
            define_macros=[("AR_SOURCES", f'"{digest()}"')],
            extra_compile_args=["-std=c99", "-O3", "-fno-strict-overflow"],
            optional=True,
        )
    ]
)
