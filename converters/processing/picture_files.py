"""Open pictures with Pillow without trusting the sizes that they state."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

#: A picture may have ``FREE_PIXELS`` or ``PIXELS_PER_BYTE`` for each byte of its file, whichever is more, but at most
#: ``MAX_PIXELS``. A photograph has about 10 pixels per byte; a PNG file of one color has thousands.
FREE_PIXELS = 1 << 24
PIXELS_PER_BYTE = 50
MAX_PIXELS = 150_000_000

#: Pillow's names of the formats that it decodes itself. For some other formats it runs a program, such as Ghostscript
#: for EPS files.
FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP", "TIFF", "GIF")

#: Without a handler, Python would write Pillow's log about damaged files to the terminal.
_SILENT = logging.NullHandler()


@contextmanager
def open_picture(file: IO[bytes], formats: Sequence[str] = FORMATS) -> Iterator[Image]:
    """Open the picture in ``file``, whose pixels are not decoded yet.

    Raises ``ValueError`` for more pixels than the limits, ``ImportError`` without Pillow, and Pillow's errors:
    ``OSError``, ``ValueError``, ``SyntaxError`` and ``Image.DecompressionBombError``.
    """
    from PIL import Image, UnidentifiedImageError

    logging.getLogger("PIL").addHandler(_SILENT)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    with warnings.catch_warnings():
        # The check below replaces the limit at which Pillow warns. Pillow's error for twice as many pixels remains.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            opened = Image.open(file, formats=list(formats))
        except UnidentifiedImageError as error:  # its text is the address of ``file`` in memory
            raise ValueError(
                f"cannot identify it as a {', '.join(formats[:-1])} or {formats[-1]} file"
            ) from error
    with opened as picture:
        width, height = picture.size
        if width * height > min(MAX_PIXELS, max(FREE_PIXELS, PIXELS_PER_BYTE * size)):
            raise ValueError(
                f"it states {width} x {height} pixels in {size:,} bytes, which is too large to be expanded"
            )
        yield picture
