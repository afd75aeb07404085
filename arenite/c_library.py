"""The system's C library, for functions that Python does not have."""

from __future__ import annotations

import ctypes
import sys


def c_library() -> ctypes.CDLL:
    """Return the C library. It records ``errno`` for ``ctypes.get_errno``. Which functions it has depends on the
    system, so look them up with ``getattr(library, name, None)``."""
    # On Linux and macOS, None stands for this process, which contains the C library. On Windows it is an error.
    return ctypes.CDLL("msvcrt" if sys.platform == "win32" else None, use_errno=True)
