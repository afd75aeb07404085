"""Motion JPEG, as USB cameras send what does not fit uncompressed, to pixels in memory that is used again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.buffer_pool import BufferPool

#: Names of simplejpeg, and bytes of a pixel.
_COLOURS = {"rgb": ("RGB", 3), "bgr": ("BGR", 3), "grey": ("GRAY", 1)}
#: Bytes at the end in which the marker of the end is looked for: cameras fill up their last packet.
END_MARKER_BYTES = 2048
#: Pixels, where no size was agreed on; and how many times those of the one agreed on a picture's header may claim.
MAX_PIXELS, MAX_SIZE_RATIO = 1 << 26, 4


@dataclass(frozen=True, slots=True)
class DecodedPicture:
    format: Format
    planes: tuple[int, ...]
    owner: np.ndarray
    release: Callable[[], None]


class MjpegDecoder:
    """``least``: width and height that suffice; the picture is then decoded at a half, a quarter or an eighth of
    its size where that has both, which saves much of the inverse transform and of the memory.

    Raises ``UsageError`` where the extra is missing, or for pixels that are not made.
    """

    def __init__(self, pixels: str = "rgb", least: tuple[int, int] | None = None) -> None:
        if pixels not in _COLOURS:
            raise UsageError(f"JPEG is not decoded to {pixels}.", f"Ask for {', '.join(_COLOURS)}.")
        try:
            import simplejpeg
        except ImportError as error:
            raise UsageError(
                "The camera sends JPEG, and no decoder for it is installed.",
                "Install the extra: pip install 'arenite[mjpeg]'; or ask for a size that comes uncompressed.",
            ) from error
        self._jpeg = simplejpeg
        self._pixels, (self._colour, self._bytes) = pixels, _COLOURS[pixels]
        self._least = least or (0, 0)
        self._memory = BufferPool()
        self._most = MAX_PIXELS
        self._format: Format | None = None

    def expected(self, format: Format) -> Format:
        """What a picture of ``format``'s size becomes; much larger ones are damaged from now on."""
        width, height = self._size(format.width, format.height)
        self._most = MAX_SIZE_RATIO * format.width * format.height
        return Format(self._pixels, width, height, (width * self._bytes,), format.fps)

    def _size(self, width: int, height: int) -> tuple[int, int]:
        """The smallest of an eighth, a quarter, a half and the whole that suffices: other eighths have no fast
        transform, and can take longer than the whole."""
        for part in (8, 4, 2):
            wide, high = -(-width // part), -(-height // part)
            if all(self._least) and wide >= self._least[0] and high >= self._least[1]:
                return wide, high
        return width, height

    def decode(self, address: int, length: int, fps: float) -> DecodedPicture | None:
        """The JPEG at ``address``; None for one that is damaged."""
        data = memoryview((ctypes.c_uint8 * length).from_address(address)).cast("B")
        # Cameras add stray bytes that a decoder warns of, so that warnings mean little; but what was cut short has no
        # end, and would come out grey below.
        if bytes(data[-END_MARKER_BYTES:]).rfind(b"\xff\xd9") < 0:
            return None
        try:
            full_height, full_width, _, _ = self._jpeg.decode_jpeg_header(data, 0, 0, 1.0, False)
            if full_width * full_height > self._most:
                return None  # a header that lies would cost gigabytes
            width, height = self._size(full_width, full_height)
            memory = self._memory.take(width * height * self._bytes)
            self._jpeg.decode_jpeg(data, self._colour, False, False, height, width, 1.0, memory, False)
        except (ValueError, KeyError):
            return None
        known = self._format
        if known is None or (known.width, known.height, known.fps) != (width, height, fps):
            known = self._format = Format(self._pixels, width, height, (width * self._bytes,), fps)
        return DecodedPicture(known, (memory.ctypes.data,), memory, self._memory.release(memory))
