"""Fuzz targets of Python code that reads bytes of strangers.

Each target function imports what it tests, so that Atheris can instrument it, and returns a function of one input. That
function may only end with the errors that the reader documents, which it catches.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

Target = Callable[[bytes], None]


def _file(suffix: str) -> tuple[Path, Callable[[bytes], Path]]:
    """Return a path in memory, if the system has such a folder, and a function that writes an input to it."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
    path = Path(folder) / f"input{suffix}"

    def write(data: bytes) -> Path:
        path.write_bytes(data)
        return path

    return path, write


def tflite_reader() -> Target:
    """The reader and verifier of .tflite files and images."""
    from arenite.converters.tflite.image import parse_image
    from arenite.errors import ModelError

    def run(data: bytes) -> None:
        with contextlib.suppress(ModelError):
            parse_image(data)

    return run


def model_metadata() -> Target:
    """The headers, metadata and labels of models for the camera."""
    from arenite.errors import AreniteError
    from arenite.host.camera.model.camera_model import open_model

    _, write_tflite = _file(".tflite")
    _, write_onnx = _file(".onnx")

    def run(data: bytes) -> None:
        with contextlib.suppress(AreniteError):
            open_model(str((write_onnx if data[:1] == b"o" else write_tflite)(data[1:])))

    return run


def array_files() -> Target:
    """.npz and .npy files."""
    from arenite.array_files import read_array, read_arrays

    _, write = _file(".npz")

    def run(data: bytes) -> None:
        with contextlib.suppress(ValueError, OSError):
            (read_arrays if data[:1] == b"P" else read_array)(write(data))

    return run


def pictures() -> Target:
    """Headers and pixels of pictures."""
    from arenite.errors import UsageError
    from arenite.host.camera.sources.picture_decoder import decode_picture

    def run(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            decode_picture(data, "rgb", "input")

    return run


def sounds() -> Target:
    """WAV files."""
    from arenite.converters.processing.media_files import read_sound
    from arenite.errors import UsageError

    _, write = _file(".wav")

    def run(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            read_sound(write(data), 16000)

    return run


def recordings() -> Target:
    """Uncompressed recordings for the camera: AVI and Y4M."""
    from arenite.errors import UsageError
    from arenite.host.camera.sources.raw_video import read_raw_video

    def run(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            read_raw_video(data, "input")

    return run


def profiles() -> Target:
    """Profiles of boards, meters, batteries and hosts, recipes and preprocessing: TOML and JSON."""
    from arenite.converters.processing.post.postprocessing import Postprocessing
    from arenite.converters.processing.specification.preprocessing import load_preprocessing
    from arenite.converters.quantize.recipes.recipe import load_recipe
    from arenite.errors import AreniteError
    from arenite.profiles.batteries import parse_battery
    from arenite.profiles.boards import parse_board
    from arenite.profiles.hosts import parse_host
    from arenite.profiles.meters import parse_meter

    toml, write_toml = _file(".toml")
    _, write_json = _file(".json")
    texts = (parse_board, parse_battery, parse_host, parse_meter)

    def run(data: bytes) -> None:
        kind, rest = data[:1], data[1:]
        with contextlib.suppress(AreniteError):
            if kind == b"j":
                load_preprocessing(write_json(rest))
            elif kind == b"p":
                with contextlib.suppress(ValueError, RecursionError):
                    Postprocessing.from_json(json.loads(rest))
            elif kind == b"r":
                write_toml(rest)
                load_recipe(str(toml))
            elif kind == b"t":
                load_preprocessing(write_toml(rest))
            elif kind:
                texts[kind[0] % len(texts)](rest.decode("utf-8", "replace"), "input")

    return run


class _OneWay:
    """A transport that returns the input, and then says that the port has gone."""

    port = "/dev/input"

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def write(self, data: bytes) -> None:
        pass

    def read(self, timeout_s: float) -> bytes:
        from arenite.host.link.transport import PortGoneError

        data = self._stream.read(61)
        if not data:
            raise PortGoneError("The port has gone.", "Connect the device.")
        return data

    def discard_input(self) -> None:
        pass

    def close(self) -> None:
        pass


def link_client() -> Target:
    """The clients of the Arenite protocol and of the MLPerf monitor. If the first byte of the input is odd, the rest is
    a list of replies, each with a byte for its length, which are framed with the sequence numbers of the requests."""
    from arenite.errors import DeviceError
    from arenite.host.link.client import DeviceClient
    from arenite.host.link.frames import encode_frame
    from arenite.host.link.mlperf_monitor import MonitorClient

    def replies(data: bytes) -> bytes:
        out, at, number = b"", 0, 1
        while at < len(data) and number < 256:
            body = data[at + 1 : at + 1 + data[at] % 250]
            # status, command and data; the client's first sequence number is 1
            out += encode_frame(bytes([number]) + (body + bytes(3))[: max(len(body), 3)])
            at += 1 + data[at] % 250
            number += 1
        return out

    def use_agent(data: bytes) -> None:
        client = DeviceClient(_OneWay(data), resend_s=0.05, attempts=2, infer_timeout_s=0.05)
        info = client.hello(timeout_s=0.05)
        client.log()
        client.memory()
        client.write_input(0, bytes(8))
        client.infer()
        for index, tensor in enumerate(info.outputs[:2]):
            client.read_output(index, min(tensor.nbytes, 64))
        client.layer_ticks(min(info.layer_count, 8))

    def use_monitor(data: bytes) -> None:
        client = MonitorClient(_OneWay(data), timeout_s=0.05, infer_timeout_s=0.05)
        client.connect(0.05)
        client.load(bytes(8))
        client.infer()
        client.raw_outputs()

    def run(data: bytes) -> None:
        if data:
            use = use_monitor if data[0] & 2 else use_agent
            with contextlib.suppress(DeviceError):
                use(replies(data[1:]) if data[0] & 1 else data[1:])

    return run


@contextlib.contextmanager
def _changed(module: ModuleType, **values: float) -> Iterator[None]:
    """Give variables of a module other values until the block ends."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def http_requests() -> Target:
    """Requests to the dashboard. The server must answer each, or close the connection without an exception."""
    from arenite.host.camera.dashboard import handler
    from arenite.host.camera.dashboard.handler import DashboardServer, Handler
    from arenite.host.camera.dashboard.server import Dashboard
    from arenite.host.http_server import request_handler
    from arenite.host.http_server.connection_server import MAX_REQUEST_BYTES, Connection

    content = Dashboard("127.0.0.1", token="sand-and-pressure", report=lambda _: None)
    content.ended = True  # an event stream ends at once
    server = DashboardServer("127.0.0.1", 0, content, 4, None, lambda _: None)
    loop = asyncio.new_event_loop()

    async def serve(data: bytes) -> bytes:
        near, far = socket.socketpair()
        with near, far:
            near.sendall(data)
            near.shutdown(socket.SHUT_WR)
            reader, writer = await asyncio.open_connection(sock=far, limit=MAX_REQUEST_BYTES)
            with contextlib.suppress(OSError):
                await Handler(server, Connection(server, far, "127.0.0.1", reader, writer)).run()
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            near.settimeout(1)
            return near.recv(16)

    def run(data: bytes) -> None:
        # The waits would be most of the fuzzer's time.
        with _changed(request_handler, _WRONG_TOKEN_DELAY_S=0.0), _changed(handler, _FRAME_WAIT_S=0.0):
            answer = loop.run_until_complete(serve(data[:60_000]))
        assert not answer or answer.startswith(b"HTTP/1.1 "), answer
        assert not answer.startswith(b"HTTP/1.1 500"), answer

    return run


#: The Python fuzz targets by name. Each function imports the code and returns the function of one input.
PYTHON_TARGETS: dict[str, Callable[[], Target]] = {
    "tflite_reader": tflite_reader,
    "model_metadata": model_metadata,
    "array_files": array_files,
    "pictures": pictures,
    "sounds": sounds,
    "recordings": recordings,
    "profiles": profiles,
    "link_client": link_client,
    "http_requests": http_requests,
}
