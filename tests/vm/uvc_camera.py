"""A USB camera in software: the kernel's USB/IP host controller takes it for a real one, and its own driver for
cameras (uvcvideo) reads it.

``python -m tests.vm.uvc_camera`` plugs it in; it is there until its standard input is closed or the process ends.

Pictures are of one grey, which
tells their number; every tenth JPEG is cut short.
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
CUT = 10


def level(number: int) -> int:
    """Of picture ``number``: the brightness of its grey."""
    return 40 + 10 * (number % 16)


class Camera(UsbDevice):
    def __init__(self) -> None:
        super().__init__(port=0)
        self._waiting: deque[Transfer] = deque()
        self._there = threading.Condition()
        self._agreed = uvc.negotiated(b"")
        self._probed = self._agreed
        self._streaming = threading.Event()
        self._pictures: dict[tuple[int, int, int], list[bytes]] = {}

    def serve(self) -> None:
        threading.Thread(target=self._stream, daemon=True).start()
        super().serve()

    def _submitted(self, transfer: Transfer) -> None:
        if transfer.endpoint == 0:
            self._control(transfer)
        else:
            with self._there:
                self._waiting.append(transfer)
                self._there.notify()

    def _call_back(self, number: int, victim: int) -> None:
        """In one piece with taking transfers out and answering them: a transfer that is answered after it was called
        back is an error that ends the connection."""
        with self._there:
            found = next((each for each in self._waiting if each.number == victim), None)
            if found is not None:
                self._waiting.remove(found)
            self._called_back(number, found is not None)

    def _control(self, transfer: Transfer) -> None:
        kind, request, value, index, _ = struct.unpack("<BBHHH", transfer.setup)
        made: bytes | None = None
        if kind == 0x80 and request == 6:
            which, item = value >> 8, value & 255
            if which == 1:
                made = uvc.device()
            elif which == 2:
                made = uvc.configuration()
            elif which == 3 and item < len(uvc.STRINGS):
                made = uvc.string(item)
        elif kind in (0x80, 0x81, 0x82) and request == 0:
            made = b"\0\0"
        elif kind in (0x00, 0x01) and request in (9, 11):
            made = b""
        elif kind == 0x02 and request == 1:  # the endpoint is cleared: streaming has ended
            self._streaming.clear()
            made = b""
        elif kind == 0x21 and request == 1 and index & 255 == 1:
            self._probed = uvc.negotiated(transfer.data)
            if value >> 8 == 2:
                self._agreed = self._probed
                self._streaming.set()
            made = b""
        elif kind == 0xA1 and index & 255 == 1 and value >> 8 in (1, 2):
            current = self._probed if value >> 8 == 1 else self._agreed
            made = {0x85: struct.pack("<H", 26), 0x86: b"\3"}.get(request, current)
        self._answer_control(transfer, made)

    def _stream(self) -> None:
        count, parity = 0, 0
        due = time.monotonic()
        while True:
            self._streaming.wait()
            _, form, frame, pause = struct.unpack_from("<HBBI", self._agreed)
            due = max(due + pause / 1e7, time.monotonic())
            time.sleep(max(due - time.monotonic(), 0))
            data = self._picture(form, frame, count)
            for at in range(0, len(data), uvc.PAYLOAD - 2):
                part = data[at : at + uvc.PAYLOAD - 2]
                end = FRAME_END if at + len(part) == len(data) else 0
                if not self._send(bytes([2, HEADER_END | end | parity]) + part):
                    break
            count, parity = count + 1, parity ^ FRAME_PARITY

    def _send(self, payload: bytes) -> bool:
        with self._there:
            while not self._waiting:
                if not self._there.wait(0.5) and not self._streaming.is_set():
                    return False
            transfer = self._waiting.popleft()
            self._answer(transfer.number, payload[: transfer.size])
        return True

    def _picture(self, form: int, frame: int, count: int) -> bytes:
        pixels, frames = uvc.FORMATS[form - 1]
        width, height, _ = frames[frame - 1]
        kept = self._pictures.setdefault((form, frame, 0), [])
        if not kept:
            kept += [_drawn(pixels, width, height, level(k)) for k in range(16)]
        data = kept[count % 16]
        return data[: len(data) // 2] if pixels == "mjpeg" and count % CUT == CUT - 1 else data


def _drawn(pixels: str, width: int, height: int, grey: int) -> bytes:
    if pixels == "yuyv":
        return np.tile(np.array([grey, 128], np.uint8), width * height).tobytes()
    from PIL import Image

    # Noise in a corner, so that a picture takes several transfers.
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
