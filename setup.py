"""The C sources of pre- and postprocessing become a library for the host; the rest is in pyproject.toml.

The library is a plain shared library that ctypes loads. Without a C compiler the installation goes on without it,
and the NumPy code, which gives the same bytes, takes its place.
"""

import hashlib
import sys
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent
FOLDER = ROOT / "arenite" / "converters" / "processing" / "c"

if (ROOT / "arenite" / "converters").is_file():
    sys.exit(
        "This checkout has no symbolic links: arenite/converters is a plain file. "
        "Run `git config core.symlinks true`, then `git checkout -- arenite`."
    )

#: Sorted by base name, as ``arenite.c_sources.SourceTree`` sorts them.
SOURCES = sorted(FOLDER.rglob("*.c"), key=lambda path: path.name)
HEADERS = sorted(FOLDER.rglob("*.h"), key=lambda path: path.name)


def digest() -> str:
    """Return the hash of the sources, as ``arenite.converters.processing.native.library`` computes it."""
    made = hashlib.sha256()
    for path in sorted([*SOURCES, *HEADERS], key=lambda path: path.name):
        made.update(path.name.encode() + b"\0" + path.read_bytes())
    return made.hexdigest()


def relative(path: Path) -> str:
    """setuptools wants paths relative to this file, with forward slashes."""
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
