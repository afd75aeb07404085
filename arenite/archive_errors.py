"""Name the errors with which ``zipfile`` reports a damaged archive, or one that it cannot read."""

from __future__ import annotations

import zipfile
import zlib

ARCHIVE_ERRORS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # an unknown compression
    RuntimeError,  # an encrypted file
)
try:
    from lzma import LZMAError
except ImportError:  # a Python without LZMA does not decompress it either
    pass
else:
    ARCHIVE_ERRORS += (LZMAError,)
