"""Locate the frames of uncompressed recordings: AVI with YUY2, UYVY, NV12, I420, YV12 or grey, and YUV4MPEG2 (.y4m).

Only headers are read, so that a recording of several gigabytes opens at once. The pixels are never copied.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from arenite.converters.processing.specification.pixel_formats import PLANES, SUBSAMPLED, buffer_bytes
from arenite.errors import UsageError

#: Maps AVI's codes of formats to pixel formats.
FOURCC = {
    b"YUY2": "yuyv", b"YUYV": "yuyv", b"UYVY": "uyvy", b"NV12": "nv12", b"I420": "yu12", b"IYUV": "yu12",
    b"YV12": "yv12", b"Y800": "grey", b"GREY": "grey", b"Y8  ": "grey",
}  # fmt: skip
#: Maps YUV4MPEG2's names of chroma subsampling to pixel formats. The names 420... differ in the position of chroma.
_Y4M = {"420": "yu12", "420jpeg": "yu12", "420paldv": "yu12", "420mpeg2": "yu12", "mono": "grey"}


@dataclass(frozen=True)
class RawVideo:
    """The format of a recording and the offsets of its frames."""

    pixels: str
    width: int
    height: int
    fps: float  # 0 if the file does not record it
    offsets: tuple[int, ...]  # offset of each frame in bytes from the file's start


class DamagedRecording(UsageError):
    """A recording of a supported kind that is truncated or malformed."""


def read_raw_video(data: mmap.mmap | bytes, name: str) -> RawVideo | None:
    """Read the headers of the recording ``data``. Return None for another kind of file, and if its frames must be
    decoded. ``name`` is for error messages. Raises ``UsageError``."""
    head = bytes(data[:12])
    reader: Callable[[mmap.mmap | bytes, str], RawVideo | None] | None = None
    if head.startswith(b"YUV4MPEG2 "):
        reader = _read_y4m
    elif head[:4] == b"RIFF" and head[8:] == b"AVI ":
        reader = _read_avi
    if reader is None:
        return None
    try:
        return reader(data, name)
    except (struct.error, ValueError, OverflowError) as error:
        raise DamagedRecording(f"{name} is damaged: {error}.", "Record it again.") from error


def _read_y4m(data: mmap.mmap | bytes, name: str) -> RawVideo | None:
    end = data.find(b"\n", 0, 1024)
    fields = {part[:1]: part[1:] for part in bytes(data[: max(end, 0)]).decode("ascii").split(" ")[1:]}
    pixels = _Y4M.get(fields.get("C", "420jpeg"))
    if end < 0 or not {"W", "H"} <= set(fields):
        raise ValueError("its header has no size")
    if pixels is None:
        return None
    width, height = int(fields["W"]), int(fields["H"])
    if _has_half_chroma(pixels, width, height):
        return None
    rate = re.fullmatch(r"(\d+):(\d+)", fields.get("F", ""))
    fps = int(rate[1]) / int(rate[2]) if rate is not None and int(rate[2]) else 0.0
    size = _frame_bytes(pixels, width, height)
    offsets, at = [], end + 1
    while data[at : at + 5] == b"FRAME":
        begin = data.find(b"\n", at, at + 256) + 1
        if not begin or begin + size > len(data):
            break  # the last frame of a truncated recording
        offsets.append(begin)
        at = begin + size
    return _checked(RawVideo(pixels, width, height, fps, tuple(offsets)), name)


def _read_avi(data: mmap.mmap | bytes, name: str) -> RawVideo | None:
    """Read an AVI file. Read its RIFF lists and not its index, because an interrupted recording has no index, and a
    file above 1 GB has several indices."""
    video: tuple[str, int, int] | None = None
    stream, streams, fps, size, offsets = -1, 0, 0.0, 0, []
    for kind, at, length in _chunks(data, 0, len(data)):
        if kind == b"strh":
            streams += 1
            if data[at : at + 4] == b"vids" and stream < 0:
                stream = streams - 1
                # AVISTREAMHEADER: dwRate / dwScale is the number of frames per second.
                scale, rate = struct.unpack_from("<II", data, at + 20)
                fps = rate / scale if scale else 0.0
        elif kind == b"strf" and stream == streams - 1 and video is None:
            # BITMAPINFOHEADER: biWidth, biHeight and biCompression. The height is negative if the top row comes first.
            width, height = struct.unpack_from("<ii", data, at + 4)
            pixels = FOURCC.get(bytes(data[at + 16 : at + 20]))
            if pixels is None or _has_half_chroma(pixels, width, height):
                return None
            video = pixels, width, abs(height)
            size = _frame_bytes(*video)
        elif video is not None and kind[:2] == b"%02d" % stream and kind[2:] in (b"dc", b"db"):
            if length == size and at + size <= len(data):
                offsets.append(at)
            elif length not in (0, size):  # a length of 0 means that the last frame is repeated
                raise ValueError(f"a frame has {length:,} bytes, expected {size:,}")
    if video is None:
        return None
    return _checked(RawVideo(*video, fps, tuple(offsets)), name)


def _chunks(data: mmap.mmap | bytes, begin: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, offset of the data, number of bytes) of each chunk in the order of the file, also of the chunks in
    lists."""
    at = begin
    while at + 8 <= end:
        kind, length = bytes(data[at : at + 4]), struct.unpack_from("<I", data, at + 4)[0]
        if kind in (b"RIFF", b"LIST"):
            at += 12  # continue with the parts of the list
            continue
        yield kind, at + 8, length
        at += 8 + length + (length & 1)


def _has_half_chroma(pixels: str, width: int, height: int) -> bool:
    """Return whether some chroma would belong to half a pixel, because a side is odd. Such a recording must be read by
    a decoder."""
    return pixels in SUBSAMPLED and bool(width % 2 or (pixels in PLANES and height % 2))


def _frame_bytes(pixels: str, width: int, height: int) -> int:
    """Return the number of bytes of a frame. Raises ``ValueError`` for an impossible size."""
    if not (0 < width <= 16384 and 0 < height <= 16384):
        raise ValueError(f"its frames are {width}x{height}")
    return buffer_bytes(pixels, width, height)


def _checked(video: RawVideo, name: str) -> RawVideo:
    """Return ``video``; an impossible frame rate becomes 0. Raises ``DamagedRecording`` if there is no frame."""
    if not video.offsets:
        raise DamagedRecording(
            f"{name} has no complete frame of {video.width}x{video.height}.", "Record it again."
        )
    return video if 0 < video.fps <= 1000 else replace(video, fps=0.0)
