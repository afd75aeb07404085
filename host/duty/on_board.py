"""Run a duty cycle on an emulated board, with real inferences, a real queue and the device's own counter.

The model's firmware is built with ``firmware/duty/duty.c`` in place of its usual loop, which answers the host's
requests. The host sends events over the serial port, as times on the board's counter. The device sleeps, wakes, infers
and drops events at these times, and reports the outcome of each event. With QEMU's option ``-icount`` all times are
virtual, so the figures are the same on every computer and under any load.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arenite.errors import DeviceError, DoesNotFitError, UsageError
from arenite.firmware.sources import BOARDS
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import generate_project
from arenite.host.duty.events import Floats
from arenite.host.duty.queue_figures import Sleep
from arenite.host.emulator.machine import start
from arenite.host.flash.build import build
from arenite.host.link.transport import Transport
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board

#: The words of the protocol, as in duty.c: "HELO", "DUTY" and "DONE", no limit of the queue, and a dropped event.
_HELLO, _START, _DONE, _ENDLESS, _DROPPED = 0x4F4C4548, 0x59545544, 0x454E4F44, 0xFFFFFFFF, 0xFFFFFFFF
#: The limit of events in one run, the bytes of RAM for each event, and the bytes of RAM for the rest of the program.
MAX_EVENTS, _EVENT_BYTES, _SPARE_BYTES = 20_000, 18, 1024
_SERVE, _DUTY = "    ar_serve();\n", "    ar_duty();\n"


@dataclass(frozen=True)
class ObservedDuty:
    """The measurements of one run, in s of the device's own time.

    ``dropped``: share of the events that were dropped. ``shares``: the device's share of time in the states sleeping,
    waking, active and lingering, from the start of the run to the end of the last event's service.
    """

    waits_s: Floats  # waits of the served events, in their order
    services_s: Floats
    dropped: float
    shares: dict[str, float]
    wakes: int
    seconds: float

    @property
    def utilization(self) -> float:
        return self.shares["active"]

    @property
    def wake_s(self) -> float:
        """Return the seconds that the device needs to wake up once, including the firmware's own work."""
        return self.shares["waking"] * self.seconds / self.wakes

    @property
    def wait_mean_s(self) -> float:
        return float(np.mean(self.waits_s))


def seconds_per_tick(board: Board) -> float:
    """Return the seconds of virtual time per tick of an emulated board's counter. Raises ``UsageError`` for a real
    board."""
    emulator = board.emulator
    if emulator is None:
        raise UsageError(f"{board.name} is a real board.", "Only emulated boards (qemu_*) have virtual time.")
    # An instruction lasts 2^icount_shift ns, in which the counter advances by ticks_numerator/ticks_denominator.
    return float(2**emulator.icount_shift * 1e-9 * emulator.ticks_denominator / emulator.ticks_numerator)


class DutyBoard:
    """An emulated board that runs duty cycles. As a context manager, it builds the firmware and starts and stops the
    emulator."""

    def __init__(self, prepared: Prepared, board: Board, optimise: str | None = None) -> None:
        """Store the arguments. The board starts in ``__enter__``."""
        self._prepared, self._board, self._optimise = prepared, board, optimise
        #: The limit of events in one run, which depends on the board's RAM. It is 0 until the firmware is generated.
        self.max_events = 0
        self._tick_s = seconds_per_tick(board)

    def __enter__(self) -> DutyBoard:
        """Build the firmware and start the emulator. Raises ``DoesNotFitError``, ``ToolError``."""
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder("arenite-duty-"))
            elf = self._build_firmware(Path(folder) / "project")
            self._transport = stack.enter_context(start(self._board, elf)).transport
            _greet_device(self._transport)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def _build_firmware(self, directory: Path) -> Path:
        """Build the model's firmware with ``duty.c`` in place of the usual loop, and return its ELF file."""
        project = generate_project(self._prepared, self._board, directory, BuildOptions(self._optimise))
        room = self._board.ram_bytes - project.prediction.ram_total - _SPARE_BYTES
        self.max_events = min(MAX_EVENTS, room // _EVENT_BYTES)
        if self.max_events < 1:
            raise DoesNotFitError(
                f"The RAM of {self._board.name} has no space for an event beside the model.",
                "Choose a board with more RAM, such as qemu_mps2_an386.",
            )
        main = directory / "src" / "main.c"
        text = main.read_text("utf-8")
        if _SERVE not in text:
            raise AssertionError("the generated main.c has an unexpected form")
        source = (BOARDS.folder.parent / "duty" / "duty.c").read_text("utf-8")
        # duty.c becomes a part of main.c, because a project compiles only the files that it was generated with.
        main.write_text(
            f"#define DUTY_EVENTS {self.max_events}u\n{source}\n{text.replace(_SERVE, _DUTY)}", "utf-8"
        )
        return build(directory)

    def service_s(self, inferences: int = 1) -> float:
        """Return the seconds in which the device serves one event with this number of inferences."""
        alone = self.run([0.01], [inferences], None, Sleep())
        return float(alone.services_s[0])

    def run(
        self,
        arrivals_s: Sequence[float] | Floats,
        inferences: Sequence[int] | NDArray[np.int64] | int,
        queue: int | None,
        sleep: Sleep,
        progress: Callable[[int], None] = lambda _: None,
    ) -> ObservedDuty:
        """Run events at the times ``arrivals_s``, each with its number of ``inferences``, and return the measurements.

        ``queue``: the number of waiting places; None means no limit. ``progress``: function that is called with the
        number of bytes received.

        Raises:
            UsageError: there are more events than the board can store, or times are too far apart for the counter.
            DeviceError: the device does not answer.
        """
        ticks_at = np.rint(np.asarray(arrivals_s, dtype=np.float64) / self._tick_s)
        gaps = np.diff(ticks_at, prepend=0.0)
        inference_counts = np.broadcast_to(np.asarray(inferences), gaps.shape)
        if not 0 < gaps.size <= self.max_events:
            raise UsageError(
                f"The run has {gaps.size} events; the board can store 1 to {self.max_events}.",
                "Choose fewer events.",
            )
        if gaps.min() < 0 or gaps.max() >= 2**32:
            longest = 2**32 * self._tick_s
            raise UsageError(
                f"Events must be in order, and at most {longest:.0f} s apart for the board's counter.",
                "Choose more events per second, or a shorter service.",
            )
        wake, linger = (round(s / self._tick_s) for s in (sleep.wake_s, sleep.linger_s))
        head = struct.pack("<5I", _START, gaps.size, _ENDLESS if queue is None else queue, wake, linger)
        body = np.column_stack([gaps, inference_counts]).astype("<u4").tobytes()
        self._transport.discard_input()
        self._transport.write(head + body)
        # One wait covers the complete run: the emulator executes about ten million instructions per second.
        # The answer is a word, the time in each of four states (64 bits each), the number of wakes, and two words per
        # event.
        answer = _read_bytes(self._transport, 4 + 8 * 4 + 4 + 8 * gaps.size, progress)
        outcome, *spent = struct.unpack("<I4QI", answer[:40])
        if outcome != _DONE:
            raise DeviceError("The device sent an unexpected answer.", "Start it again.")
        table = np.frombuffer(answer[40:], "<u4").reshape(-1, 2).astype(np.float64)
        served = table[:, 0] != _DROPPED
        total = sum(spent[:4])
        names = ("sleeping", "waking", "active", "lingering")
        return ObservedDuty(
            waits_s=table[served, 0] * self._tick_s,
            services_s=table[served, 1] * self._tick_s,
            dropped=float(1 - served.mean()),
            shares={name: ticks / total for name, ticks in zip(names, spent[:4], strict=True)},
            wakes=spent[4],
            seconds=total * self._tick_s,
        )


def _greet_device(transport: Transport, timeout_s: float = 30.0) -> None:
    """Send the greeting until the firmware answers. Raises ``DeviceError`` if it does not answer in time."""
    hello = struct.pack("<I", _HELLO)
    received = b""
    end = time.monotonic() + timeout_s
    while hello not in received:
        if time.monotonic() > end:
            raise DeviceError(
                f"The firmware did not answer within {timeout_s:.0f} s.",
                "Check whether the computer is overloaded.",
            )
        transport.write(hello)
        received += transport.read(0.3)
    # Drop the answers to repeated greetings.
    while transport.read(0.3):
        pass


def _read_bytes(
    transport: Transport, count: int, progress: Callable[[int], None], quiet_s: float = 120.0
) -> bytes:
    """Read ``count`` bytes. Raises ``DeviceError`` if no byte arrives for ``quiet_s`` seconds."""
    received = bytearray()
    end = time.monotonic() + quiet_s
    while len(received) < count:
        data = transport.read(0.5)
        if data:
            end = time.monotonic() + quiet_s
        elif time.monotonic() > end:
            raise DeviceError(
                f"The device sent nothing for {quiet_s:.0f} s.", "Choose fewer events or a smaller model."
            )
        received += data
        progress(len(received))
    return bytes(received)
