"""A simulated network camera: RTSP 1.0 (RFC 2326) with JPEG in RTP packets (RFC 2435) that are sent on the RTSP
connection."""

from __future__ import annotations

import socketserver
import struct
import threading
import time
from collections.abc import Callable

MAX_PACKET_BYTES = 1400  # bytes of a picture per packet
CLOCK = 90_000  # RTP time stamps per second


def jpeg_parts(jpeg: bytes) -> tuple[int, bytes, bytes]:
    """Return the RTP type (0: 4:2:2, 1: 4:2:0), the quantization tables and the scan of a baseline JPEG."""
    offset, tables, jpeg_type = 2, b"", 1
    while True:
        marker, size = struct.unpack_from(">HH", jpeg, offset)
        body = jpeg[offset + 4 : offset + 2 + size]
        if marker == 0xFFDB:
            while body:
                tables, body = tables + body[1:65], body[65:]
        elif marker == 0xFFC0:
            jpeg_type = 1 if body[7] == 0x22 else 0
        elif marker == 0xFFDA:
            return jpeg_type, tables, jpeg[offset + 2 + size : -2]
        offset += 2 + size


class Server(socketserver.ThreadingTCPServer):
    """The simulated camera. ``picture(number)`` returns a JPEG of ``width`` x ``height`` pixels (multiples of
    eight)."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, picture: Callable[[int], bytes], width: int, height: int, fps: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.picture, self.size, self.fps = picture, (width, height), fps
        self.requests: list[str] = []
        self.max_pictures = 10**9  # per connection

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}/camera"


class Handler(socketserver.StreamRequestHandler):
    """Answers the requests of one client, and sends pictures after the request PLAY."""

    # The server is always a Server; socketserver declares only the base class.
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle(self) -> None:
        try:
            while request := self._request():
                method, fields = request
                self.server.requests.append(method)
                self._answer(method, fields)
                if method == "PLAY":
                    threading.Thread(target=self._play, daemon=True).start()
                if method == "TEARDOWN":
                    return
        except OSError:
            return

    def _request(self) -> tuple[str, dict[str, str]] | None:
        lines = []
        while line := self.rfile.readline():
            if line[:1] == b"$":  # a receiver report (RTCP) of the client, which comes on the same connection
                size = struct.unpack(">H", line[2:4])[0]
                self.rfile.read(size - len(line) + 4)
                continue
            if not line.strip():
                break
            lines.append(line.decode().strip())
        if not lines:
            return None
        fields = dict(line_text.split(": ", 1) for line_text in lines[1:] if ": " in line_text)
        return lines[0].split()[0], fields

    def _answer(self, method: str, fields: dict[str, str]) -> None:
        head = {"CSeq": fields.get("CSeq", "0")}
        body = ""
        if method == "OPTIONS":
            head["Public"] = "OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN"
        elif method == "DESCRIBE":
            body = (
                "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\n"
                f"m=video 0 RTP/AVP 26\r\na=framerate:{self.server.fps}\r\na=control:track0\r\n"
            )
            head |= {"Content-Type": "application/sdp", "Content-Length": str(len(body))}
        elif method == "SETUP":
            head |= {"Transport": "RTP/AVP/TCP;unicast;interleaved=0-1", "Session": "1"}
        else:
            head["Session"] = "1"
        lines = "".join(f"{key}: {value}\r\n" for key, value in head.items())
        self.wfile.write(f"RTSP/1.0 200 OK\r\n{lines}\r\n{body}".encode())

    def _play(self) -> None:
        packet = 0
        wide, high = self.server.size
        try:
            for number in range(self.server.max_pictures):
                jpeg_type, tables, scan = jpeg_parts(self.server.picture(number))
                stamp = int(number * CLOCK / self.server.fps)
                for offset in range(0, len(scan), MAX_PACKET_BYTES):
                    payload = scan[offset : offset + MAX_PACKET_BYTES]
                    last = offset + len(payload) == len(scan)
                    # RTP version 2, and type 26 (JPEG) with the marker bit in the last packet of a picture.
                    data = struct.pack(">BBHII", 0x80, 26 | last << 7, packet & 0xFFFF, stamp, 1)
                    # Quality 255 means that the first packet of a picture contains the quantization tables.
                    data += struct.pack(">IBBBB", offset, jpeg_type, 255, wide // 8, high // 8)
                    if offset == 0:
                        data += struct.pack(">BBH", 0, 0, len(tables)) + tables
                    data += payload
                    self.wfile.write(b"$\0" + struct.pack(">H", len(data)) + data)
                    packet += 1
                time.sleep(1 / self.server.fps)
            self.connection.shutdown(2)
        except (OSError, ValueError):
            return
