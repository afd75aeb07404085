"""Tests of video files and network streams as sources. A simulated camera sends JPEG pictures as the parts of an HTTP
response."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import EndOfSource, SourceLost
from arenite.host.camera.sources.factory import open_source
from tests.host.camera.sources.late_reader import read_late

cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")
WIDE, HIGH, COUNT, FPS = 160, 96, 24, 25.0


def level(number: int) -> int:
    """Return the brightness of picture ``number``, from which ``number_of`` restores the number."""
    return 20 + 9 * (number % 24)


def number_of(frame: Frame) -> int:
    """Return the number of the picture in ``frame``, modulo 24."""
    return round((float(frame.rows().mean()) - 20) / 9)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video file of COUNT grey pictures, each with its own brightness."""
    path = tmp_path_factory.mktemp("video") / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (WIDE, HIGH))
    assert writer.isOpened()
    for k in range(COUNT):
        writer.write(np.full((HIGH, WIDE, 3), level(k), np.uint8))
    writer.release()
    return path


def test_every_frame_of_a_video_is_read_once(film: Path) -> None:
    source = open_source(str(film))
    format = source.open()
    assert (format.pixels, format.width, format.height, format.strides) == ("bgr", WIDE, HIGH, (3 * WIDE,))
    assert format.fps == FPS and not source.live
    numbers, planes = [], set()
    while True:
        try:
            frame = source.read(0)
        except EndOfSource:
            break
        assert frame is not None
        numbers.append(number_of(frame))
        planes.add(frame.planes)
        frame.release()
    assert numbers == list(range(COUNT))
    assert len(planes) == 1  # every frame was released, so the memory was reused
    assert (source.counters.captured, source.counters.dropped) == (COUNT, 0)
    source.close()


def test_held_frames_keep_their_picture(film: Path) -> None:
    source = open_source(str(film))
    source.open()
    frames = [frame for frame in (source.read(0) for _ in range(6)) if frame]
    assert [number_of(frame) for frame in frames] == list(range(6))
    source.close()
    assert [number_of(frame) for frame in frames] == list(range(6))


def test_a_looped_video_repeats(film: Path) -> None:
    source = open_source(str(film), loop=True)
    source.open()
    numbers = []
    for k in range(COUNT + 5):
        frame = source.read(0)
        assert frame is not None and frame.sequence == k
        numbers.append(number_of(frame))
        frame.release()
    assert numbers == [*range(COUNT), *range(5)]


def test_a_late_reader_misses_frames(film: Path) -> None:
    # The video repeats, so that it does not end if a busy computer reads much later.
    source = open_source(str(film), pace="live", fps=100.0, loop=True)
    source.open()
    first = source.read(1)
    time.sleep(0.08)  # 8 pictures
    second = source.read(1)
    assert first is not None and second is not None
    assert second.missed == second.sequence - 1 >= 6
    assert number_of(second) == second.sequence % COUNT  # exactly the missed pictures were skipped
    assert source.counters.captured == second.sequence + 1 and source.counters.dropped == second.missed
    assert second.time_ns - first.time_ns == pytest.approx(second.sequence * 1e7, abs=2)


def test_other_files_are_not_videos(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"nothing of the kind")
    with pytest.raises(UsageError, match="is not a video"):
        open_source(str(tmp_path / "film.mp4")).open()


class Server(ThreadingHTTPServer):
    """The simulated camera. It sends at most ``max_pictures`` JPEG pictures per connection."""

    daemon_threads = True
    max_pictures = 10**9
    pause_s = 0.01
    size: tuple[int, int] = (WIDE, HIGH)
    connections = 0


class Handler(BaseHTTPRequestHandler):
    """Answers each request with a stream of JPEG pictures."""

    # The server is always a Server; socketserver declares only the base class.
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        """Send JPEG pictures until the client closes the connection."""
        self.server.connections += 1
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=part")
        self.end_headers()
        try:
            for k in range(self.server.max_pictures):
                wide, high = self.server.size
                data = cv2.imencode(".jpg", np.full((high, wide, 3), level(k), np.uint8))[1].tobytes()
                head = f"--part\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
                self.wfile.write(head.encode() + data + b"\r\n")
                time.sleep(self.server.pause_s)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    stream_server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=stream_server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield stream_server
    stream_server.shutdown()
    stream_server.server_close()


def url(server: Server, user: str = "") -> str:
    """Return the address of the simulated camera. ``user`` is a name and a password, such as "me:secret@"."""
    return f"http://{user}127.0.0.1:{server.server_address[1]}/camera.mjpg"


def test_the_newest_frame_of_a_stream_is_read(server: Server) -> None:
    source = open_source(url(server))
    try:
        format = source.open()
        assert (format.pixels, format.width, format.height) == ("bgr", WIDE, HIGH) and source.live
        first = source.read(60)
        assert first is not None
        planes = first.rows().copy()
        second, missed = read_late(source, first, 5)
        assert (first.rows() == planes).all()  # a frame in use is not overwritten
        assert source.counters.captured == second.sequence + 1
        assert source.counters.dropped == first.missed + missed
    finally:
        source.close()


def test_a_closed_stream_is_reconnected(server: Server) -> None:
    server.max_pictures = 12
    messages: list[str] = []
    source = open_source(url(server, "user:secret@"), on_message=messages.append)
    try:
        source.open()
        last, end = -1, time.monotonic() + 60
        while source.counters.reconnects < 2 and time.monotonic() < end:
            frame = source.read(0.1)
            if frame is not None:
                assert frame.sequence > last
                last = frame.sequence
                frame.release()
        assert source.counters.reconnects >= 2 and server.connections >= 3
        assert messages and not any("secret" in line for line in messages)
    finally:
        source.close()


def test_a_stream_does_not_change_how_files_are_read(server: Server, film: Path) -> None:
    """FFmpeg's options for streams, which OpenCV reads from the environment, would drop the first frame of a file."""
    stream = open_source(url(server))
    stream.open()
    source = open_source(str(film))
    source.open()
    frame = source.read(0)
    assert frame is not None and number_of(frame) == 0
    stream.close()


def test_a_stream_may_change_its_size(server: Server) -> None:
    server.max_pictures = 12
    source = open_source(url(server))
    try:
        source.open()
        server.size = (200, 120)
        sizes, end = set(), time.monotonic() + 60
        while (200, 120) not in sizes and time.monotonic() < end:
            frame = source.read(0.1)
            if frame is not None:
                sizes.add((frame.format.width, frame.format.height))
                assert frame.rows().shape == (frame.format.height, 3 * frame.format.width)
                frame.release()
        assert (200, 120) in sizes
    finally:
        source.close()


def test_a_missing_server_is_a_lost_source() -> None:
    with pytest.raises(SourceLost, match="does not answer"):
        open_source("http://127.0.0.1:9/none.mjpg").open()
