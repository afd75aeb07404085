"""The agent of a fleet on a device, compiled for this computer with checks for undefined behavior."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from arenite.firmware.sources import AGENT, UPDATE
from arenite.host.update.plain_frames import PlainDecoder, encode_plain
from arenite.host.update.smp_message import GROUP_ARENITE, Answer, decode_answer, encode_request
from tests.firmware.update.image_check import STRICT

LATENCY, CLASSES, CONFIDENCE, INPUT = 0, 1, 2, 16
_SERVER = ("smp_server", "smp_serial", "smp_os", "smp_image", "smp_upload", "smp_statistics", "cbor")
_FOLDER = tempfile.TemporaryDirectory(prefix="arenite-agent-")  # removed at the end of the process


@cache
def library(classes: int, has_input: bool, buffer_bytes: int) -> ctypes.CDLL:
    """Return the device for a model with ``classes`` and, with ``has_input``, an input of bytes."""
    path = Path(_FOLDER.name) / f"device-{classes}-{has_input}-{buffer_bytes}.so"
    sources = [
        AGENT.path("observations.c"),
        AGENT.path("device_agent.c"),
        Path(__file__).with_name("device.c"),
    ]
    sources += [UPDATE.path(f"{name}.c") for name in _SERVER]
    macros = [f"-DAR_AGENT_CLASSES={classes}", f"-DAR_AGENT_INPUT={int(has_input)}"]
    macros += [f"-DAR_SMP_BUFFER_BYTES={buffer_bytes}"]
    checks = ("-fsanitize=undefined,bounds", "-fno-sanitize-recover=all", "-fPIC", "-shared")
    command = ["gcc", *STRICT, *checks, *macros, *AGENT.include_flags, *UPDATE.include_flags]
    subprocess.run([*command, *map(str, sources), "-o", str(path)], check=True)
    loaded = ctypes.CDLL(str(path))
    loaded.device_ask.argtypes = [
        ctypes.c_char_p,
        ctypes.c_uint32,
        ctypes.POINTER(ctypes.POINTER(ctypes.c_ubyte)),
    ]
    return loaded


class Device:
    """A device that starts when it is made. There is one at a time for each choice of arguments."""

    def __init__(
        self,
        classes: int = 5,
        has_input: bool = True,
        *,
        buffer_bytes: int = 416,
        cause: int = 0,
        boot: int = 0,
        ticks: int = 0,
    ) -> None:
        self._library = library(classes, has_input, buffer_bytes)
        self._library.device_start(cause, boot, ctypes.c_uint32(ticks))

    def tick(self, ticks: int, ticks_per_s: int) -> None:
        self._library.device_tick(ctypes.c_uint32(ticks), ctypes.c_uint32(ticks_per_s))

    def observe(
        self, values: bytes, latency_us: int, scores: bytes, *, input_sign: int = 128, sign: int = 128
    ) -> None:
        self._library.device_observe(
            values, len(values), input_sign, ctypes.c_uint32(latency_us), scores, sign
        )

    def counts(self, number: int) -> list[int]:
        counts = (ctypes.c_uint16 * 96)()
        return list(counts[: self._library.device_counts(number, counts)])

    def exchange(self, frames: bytes) -> bytes:
        """Return the frames of the answers."""
        sent = ctypes.POINTER(ctypes.c_ubyte)()
        count = self._library.device_ask(frames, len(frames), ctypes.byref(sent))
        return bytes(sent[:count])

    def ask(self, operation: int, command: int, body: dict[str, Any]) -> Answer:
        frame = encode_plain(encode_request(operation, GROUP_ARENITE, command, 7, body))
        (message,) = PlainDecoder().feed(self.exchange(frame))
        answer = decode_answer(message)
        assert answer is not None and (answer.group, answer.command, answer.sequence) == (64, command, 7)
        return answer


class DeviceLine:
    """A line to a device as a ``Transport``, with a time of its own. ``before``: is called before each request, so that
    a test can let the device count between two of them. The next ``lost`` answers do not arrive."""

    port = "a simulated line"

    def __init__(self, device: Device) -> None:
        self.device = device
        self.now = 0.0
        self.requests = self.lost = 0
        self.before: Callable[[], None] = lambda: None
        self._received = b""

    def clock(self) -> float:
        return self.now

    def read(self, timeout_s: float) -> bytes:
        data, self._received = self._received, b""
        self.now += 0 if data else timeout_s
        return data

    def write(self, data: bytes) -> None:
        self.before()
        self.requests += 1
        answer = self.device.exchange(data)
        if self.lost:
            self.lost -= 1
        else:
            self._received += answer

    def discard_input(self) -> None:
        self._received = b""

    def close(self) -> None:
        pass
