"""What pyproject.toml cannot say: the C sources of pre- and postprocessing become a library for the host.

It is a plain shared library that ctypes loads. Where there is no C compiler the installation goes on without it, and
the NumPy code, which gives the same bytes, serves.
"""

import hashlib
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path(__file__).parent / "arenite" / "firmware" / "processing"


def digest() -> str:
    """Of the sources, as ``arenite.converters.processing.native`` computes it."""
    found = hashlib.sha256()
    for path in sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")]):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


setup(
    ext_modules=[
        Extension(
            "arenite.firmware.processing._native",
            sources=sorted(f"arenite/firmware/processing/{path.name}" for path in FOLDER.glob("*.c")),
            depends=sorted(f"arenite/firmware/processing/{path.name}" for path in FOLDER.glob("*.h")),
            define_macros=[("AR_SOURCES", f'"{digest()}"')],
            extra_compile_args=["-std=c99", "-O3", "-fno-strict-overflow"],
            optional=True,
        )
    ]
)
