"""A USB camera, simulated in software. The kernel's USB/IP host controller connects it like a real camera, and the
kernel's driver for USB cameras (uvcvideo) reads it.

``python -m tests.vm.uvc_camera`` connects the camera until its standard input is closed or the process ends.

The grey level of a picture encodes its number. Every tenth JPEG is truncated.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import threading
import time
from collections import deque

import numpy as np

from tests.vm import uvc_descriptors as uvc
from tests.vm.usbip import Transfer, UsbDevice

HEADER_END, FRAME_END, FRAME_PARITY = 0x80, 2, 1
#: Every tenth JPEG picture is truncated.
TRUNCATION_PERIOD = 10


def level(number: int) -> int:
    """Return the grey level of picture ``number``."""
    return 40 + 10 * (number % 16)


class Camera(UsbDevice):
    """The simulated camera."""

    def __init__(self) -> None:
        super().__init__(port=0)
        self._pending: deque[Transfer] = deque()
        self._changed = threading.Condition()
        self._agreed = uvc.negotiated(b"")
        self._probed = self._agreed
        self._streaming = threading.Event()
        self._pictures: dict[tuple[int, int, int], list[bytes]] = {}

    def serve(self) -> None:
        threading.Thread(target=self._stream, daemon=True).start()
        super().serve()

    def _on_transfer(self, transfer: Transfer) -> None:
        if transfer.endpoint == 0:
            self._control(transfer)
        else:
            with self._changed:
                self._pending.append(transfer)
                self._changed.notify()

    def _cancel(self, number: int, cancelled: int) -> None:
        """Cancel a transfer under the lock that also protects answering. To answer a cancelled transfer is an error
        that ends the connection."""
        with self._changed:
            pending = next((each for each in self._pending if each.number == cancelled), None)
            if pending is not None:
                self._pending.remove(pending)
            self._confirm_cancel(number, pending is not None)

    def _control(self, transfer: Transfer) -> None:
        kind, request, value, index, _ = struct.unpack("<BBHHH", transfer.setup)
        reply: bytes | None = None
        if kind == 0x80 and request == 6:
            descriptor, item = value >> 8, value & 255
            if descriptor == 1:
                reply = uvc.device()
            elif descriptor == 2:
                reply = uvc.configuration()
            elif descriptor == 3 and item < len(uvc.STRINGS):
                reply = uvc.string(item)
        elif kind in (0x80, 0x81, 0x82) and request == 0:
            reply = b"\0\0"
        elif kind in (0x00, 0x01) and request in (9, 11):
            reply = b""
        elif kind == 0x02 and request == 1:  # CLEAR_FEATURE: the host clears the endpoint when streaming ends
            self._streaming.clear()
            reply = b""
        elif kind == 0x21 and request == 1 and index & 255 == 1:
            self._probed = uvc.negotiated(transfer.data)
            if value >> 8 == 2:
                self._agreed = self._probed
                self._streaming.set()
            reply = b""
        elif kind == 0xA1 and index & 255 == 1 and value >> 8 in (1, 2):
            current = self._probed if value >> 8 == 1 else self._agreed
            reply = {0x85: struct.pack("<H", 26), 0x86: b"\3"}.get(request, current)
        self._answer_control(transfer, reply)

    def _stream(self) -> None:
        count, parity = 0, 0
        due = time.monotonic()
        while True:
            self._streaming.wait()
            _, form, frame, pause = struct.unpack_from("<HBBI", self._agreed)
            due = max(due + pause / 1e7, time.monotonic())
            time.sleep(max(due - time.monotonic(), 0))
            data = self._picture(form, frame, count)
            for offset in range(0, len(data), uvc.PAYLOAD - 2):
                part = data[offset : offset + uvc.PAYLOAD - 2]
                end = FRAME_END if offset + len(part) == len(data) else 0
                if not self._send(bytes([2, HEADER_END | end | parity]) + part):
                    break
            count, parity = count + 1, parity ^ FRAME_PARITY

    def _send(self, payload: bytes) -> bool:
        with self._changed:
            while not self._pending:
                if not self._changed.wait(0.5) and not self._streaming.is_set():
                    return False
            transfer = self._pending.popleft()
            self._answer(transfer.number, payload[: transfer.size])
        return True

    def _picture(self, form: int, frame: int, count: int) -> bytes:
        pixels, frames = uvc.FORMATS[form - 1]
        width, height, _ = frames[frame - 1]
        pictures = self._pictures.setdefault((form, frame, 0), [])
        if not pictures:
            pictures += [_draw(pixels, width, height, level(k)) for k in range(16)]
        data = pictures[count % 16]
        truncated = pixels == "mjpeg" and count % TRUNCATION_PERIOD == TRUNCATION_PERIOD - 1
        return data[: len(data) // 2] if truncated else data


def _draw(pixels: str, width: int, height: int, grey: int) -> bytes:
    """Return the bytes of a picture with the given grey level, as YUYV or as JPEG."""
    if pixels == "yuyv":
        return np.tile(np.array([grey, 128], np.uint8), width * height).tobytes()
    from PIL import Image

    # Noise in a corner makes the picture so large that it takes several transfers.
    picture = np.full((height, width, 3), grey, np.uint8)
    picture[:100, :100] = np.random.default_rng(grey).integers(0, 255, (100, 100, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(picture, "RGB").save(file, "JPEG", quality=95)
    return file.getvalue()


def main() -> None:
    camera = Camera()
    camera.attach()
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    camera.serve()


if __name__ == "__main__":
    main()
