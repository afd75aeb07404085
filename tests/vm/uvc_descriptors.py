"""The descriptors of a USB camera: USB 2.0 and the USB Video Class 1.0, with a bulk endpoint for pictures."""

from __future__ import annotations

import struct

#: The camera's formats, as (pixels, frames). A frame is (width, height, frame rates). In the descriptors, the first
#: format and the first frame of a format have the number 1.
FORMATS = (
    ("mjpeg", ((640, 360, (30, 15)), (320, 180, (30,)))),
    ("yuyv", ((320, 180, (30,)), (640, 360, (5,)))),
)
STRINGS = ("", "Arenite", "Emulated USB camera", "SN0001")
YUY2 = b"YUY2" + bytes.fromhex("0000100080000 0aa00389b71".replace(" ", ""))
PAYLOAD = 16384  # maximum bytes of a transfer, including its header
CLASS, INTERFACE, ENDPOINT = 0x24, 4, 5  # types of descriptors


def interval(fps: int) -> int:
    """Return the frame interval in units of 100 ns."""
    return 10_000_000 // fps


def device() -> bytes:
    """Return the device descriptor."""
    # The class codes 0xEF, 2, 1 say that an interface association groups several interfaces into one function.
    return struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 0xEF, 2, 1, 64, 0x1D6B, 0x0102, 1, 1, 2, 3, 1)


def string(index: int) -> bytes:
    """Return a string descriptor. Index 0 is the list of languages."""
    text = struct.pack("<H", 0x0409) if index == 0 else STRINGS[index].encode("utf-16-le")
    return bytes([2 + len(text), 3]) + text


def _descriptor(kind: int, subtype: int, body: bytes) -> bytes:
    """Return a descriptor of the video class."""
    return bytes([3 + len(body), kind, subtype]) + body


def _interface(number: int, endpoints: int, subclass: int) -> bytes:
    """Return an interface descriptor."""
    return struct.pack("<BBBBBBBBB", 9, INTERFACE, number, 0, endpoints, 0x0E, subclass, 0, 0)


def _formats() -> bytes:
    """Return the descriptors of all formats and frames."""
    descriptors = b""
    for k, (pixels, frames) in enumerate(FORMATS, 1):
        jpeg = pixels == "mjpeg"
        head = struct.pack("<BB", k, len(frames))
        if jpeg:
            descriptors += _descriptor(CLASS, 6, head + bytes([1, 1, 0, 0, 0, 0]))
        else:
            descriptors += _descriptor(CLASS, 4, head + YUY2 + bytes([16, 1, 0, 0, 0, 0]))
        for n, (width, height, rates) in enumerate(frames, 1):
            size = width * height * 2
            body = struct.pack("<BBHHIII", n, 0, width, height, size, size * 8 * max(rates), size)
            body += struct.pack("<IB", interval(rates[0]), len(rates))
            descriptors += _descriptor(
                CLASS, 7 if jpeg else 5, body + struct.pack(f"<{len(rates)}I", *map(interval, rates))
            )
        descriptors += _descriptor(CLASS, 13, bytes([1, 1, 4]))  # colours: BT.709 primaries, BT.601 matrix
    return descriptors


def configuration() -> bytes:
    """Return the configuration descriptor with those of its interfaces, formats and endpoint."""
    terminals = _descriptor(CLASS, 2, struct.pack("<BHBBHHHB", 1, 0x0201, 0, 0, 0, 0, 0, 3) + bytes(3))
    terminals += _descriptor(CLASS, 3, struct.pack("<BHBBB", 2, 0x0101, 0, 1, 0))
    control = _descriptor(CLASS, 1, struct.pack("<HHIBB", 0x0100, 13 + len(terminals), 48_000_000, 1, 1))
    formats = _formats()
    total = 13 + len(FORMATS) + len(formats)
    header = struct.pack("<BHBBBBBBB", len(FORMATS), total, 0x81, 0, 2, 0, 0, 0, 1) + bytes(len(FORMATS))
    body = bytes([8, 11, 0, 2, 0x0E, 3, 0, 0])  # the association of both interfaces
    body += _interface(0, 0, 1) + control + terminals
    body += _interface(1, 1, 2) + _descriptor(CLASS, 1, header) + formats
    body += struct.pack("<BBBBHB", 7, ENDPOINT, 0x81, 2, 512, 0)
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), 2, 1, 0, 0x80, 50) + body


def negotiated(request: bytes) -> bytes:
    """Return the streaming control (26 bytes) with which the camera answers the host's request."""
    hint, form, frame, requested = struct.unpack_from("<HBBI", request.ljust(26, b"\0"))
    form = min(max(form, 1), len(FORMATS))
    frames = FORMATS[form - 1][1]
    frame = min(max(frame, 1), len(frames))
    width, height, rates = frames[frame - 1]
    selected = min(map(interval, rates), key=lambda each: abs(each - (requested or interval(rates[0]))))
    return struct.pack(
        "<HBBIHHHHHII", hint, form, frame, selected, 0, 0, 0, 0, 0, width * height * 2, PAYLOAD
    )
