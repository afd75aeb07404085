"""Make uncompressed recordings byte by byte, for tests: AVI with an index, and YUV4MPEG2."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from arenite.host.camera.sources.pixel_encoding import encode_pixels


def _chunk(fourcc: bytes, data: bytes) -> bytes:
    """Return a RIFF chunk: the identifier, the length, and ``data`` with an even number of bytes."""
    return fourcc + struct.pack("<I", len(data)) + data + b"\0" * (len(data) & 1)


def avi(
    frames: list[np.ndarray], fourcc: bytes, width: int, height: int, fps: int = 25, sound: bool = False
) -> bytes:
    """Return an AVI file of uint8 ``frames`` in the pixel format ``fourcc``. ``sound`` adds an audio stream with chunks
    between the frames."""
    size = frames[0].nbytes
    video_stream = int(sound)  # the audio stream, if there is one, is stream 0
    avih = struct.pack(
        "<14I",
        1_000_000 // fps,
        size * fps,
        0,
        0x10,
        len(frames),
        0,
        1 + video_stream,
        size,
        width,
        height,
        0,
        0,
        0,
        0,
    )
    strh = (
        b"vids"
        + fourcc
        + struct.pack("<IHHIIIIIIII4H", 0, 0, 0, 0, 1, fps, 0, len(frames), size, 0, 0, 0, 0, width, height)
    )
    strf = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 16, fourcc, size, 0, 0, 0, 0)
    lists = b"hdrl" + _chunk(b"avih", avih)
    if sound:
        audio = (
            b"auds" + bytes(4) + struct.pack("<IHHIIIIIIII4H", 0, 0, 0, 0, 1, 8000, 0, 0, 0, 0, 1, 0, 0, 0, 0)
        )
        format = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
        lists += _chunk(b"LIST", b"strl" + _chunk(b"strh", audio) + _chunk(b"strf", format))
    lists += _chunk(b"LIST", b"strl" + _chunk(b"strh", strh) + _chunk(b"strf", strf))
    body = b"AVI " + _chunk(b"LIST", lists) + b"LIST"
    movi, index, offset = b"movi", b"", 4  # the offset of the next chunk in the list ``movi``
    for frame in frames:
        if sound:
            movi += _chunk(b"00wb", bytes(range(7)))
            offset += 16
        index += b"%02ddc" % video_stream + struct.pack("<III", 0x10, offset, size)
        movi += _chunk(b"%02ddc" % video_stream, frame.tobytes())
        offset += 8 + size + (size & 1)
    body += struct.pack("<I", len(movi)) + movi + _chunk(b"idx1", index)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def y4m_of_pictures(pictures: Sequence[np.ndarray], fps: str) -> bytes:
    """Return a YUV4MPEG2 file with 4:2:0 chroma of RGB ``pictures``: uint8, shape (height, width, 3)."""
    frames = []
    for picture in pictures:
        luma, chroma = encode_pixels(picture, "nv12")
        frames.append(np.concatenate([luma.ravel(), chroma[:, 0::2].ravel(), chroma[:, 1::2].ravel()]))
    height, width, _ = pictures[0].shape
    return y4m(frames, "420jpeg", width, height, fps)


def y4m(frames: list[np.ndarray], sampling: str, width: int, height: int, fps: str = "25:1") -> bytes:
    """Return a YUV4MPEG2 file of uint8 ``frames``. ``sampling`` is the chroma subsampling in its header, as in 420."""
    head = f"YUV4MPEG2 W{width} H{height} F{fps} Ip A1:1 C{sampling}\n".encode()
    return head + b"".join(b"FRAME\n" + frame.tobytes() for frame in frames)
