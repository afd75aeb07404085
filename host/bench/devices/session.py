"""Run samples on one device by Arenite's protocol or the MLPerf Tiny monitor, over a transport that may damage data.

Damaged data is requested again. A sample may remain without an answer, but it never gets a damaged answer: Arenite's
frames carry a CRC-32, and ``host/bench/devices/monitor_answers.py`` decides which answers of the MLPerf monitor are
accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import numpy as np

from arenite.errors import DeviceError
from arenite.firmware.generator.generated_model import Generated
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.bench.devices.monitor_answers import MonitorAnswers
from arenite.host.link.client import (
    DEFAULT_LIMITS,
    DeviceClient,
    DeviceRestartedError,
    HealthUnavailableError,
    TimeLimits,
)
from arenite.host.link.device_replies import DeviceMemory
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import PortGoneError, Transport

#: The maximum number of runs of one sample. After that, the sample is missing.
ATTEMPTS = 4


class MemoryOverrunError(DeviceError):
    """Memory on the device was overwritten, so no answer can be trusted."""


class DeviceSession(Protocol):
    """An open session with a device.

    ``tick_hz`` is the rate of the device's counter; 0 means that the board's profile states it. ``repeated`` counts how
    often a sample was sent again.
    """

    @property
    def tick_hz(self) -> int: ...

    @property
    def repeated(self) -> int: ...

    def answer(
        self, inputs: Sequence[np.ndarray], expected: bytes | None, *, fresh: bool = True
    ) -> DeviceAnswer | None:
        """Return the device's answer to ``inputs``, or None if the device gave no valid answer. ``expected`` has
        LiteRT's output bytes if they are known. ``fresh`` resets the model's state before the inference.

        Raises ``DeviceError`` when the device no longer answers, or fails repeatedly in the same way.
        """

    def memory(self) -> DeviceMemory | None:
        """Return the device's report on its RAM, or None if its protocol has no such report."""


class FramedSession:
    """A session by Arenite's protocol."""

    def __init__(
        self,
        transport: Transport,
        generated: Generated,
        *,
        timeout_s: float = 10.0,
        limits: TimeLimits = DEFAULT_LIMITS,
    ) -> None:
        self._hash, self._model = generated.sha256, generated.model.main
        self._client = DeviceClient(transport, resend_s=limits.resend_s, infer_timeout_s=limits.infer_s)
        info = self._client.connect(self._hash, timeout_s=timeout_s)
        self._layers = info.layer_count
        self.tick_hz = info.tick_hz
        self.repeated = 0

    def answer(
        self, inputs: Sequence[np.ndarray], expected: bytes | None, *, fresh: bool = True
    ) -> DeviceAnswer | None:
        """See :class:`DeviceSession`. An inference that continues with earlier state (not ``fresh``) is tried only
        once, because a retry would lose the state."""
        damaged_before = self._damaged_frames()
        faults = 0
        for attempt in range(ATTEMPTS):
            try:
                return self._run_once(inputs, fresh)
            except PortGoneError:
                raise
            except DeviceError as error:
                faults += isinstance(error, DeviceRestartedError) and error.by_fault
                is_last_attempt = attempt == ATTEMPTS - 1
                if not fresh or faults > 1 or (is_last_attempt and self._damaged_frames() == damaged_before):
                    raise  # no frame was damaged, so the device is at fault
            self.repeated += 1
            self._reopen()
        return None

    def _reopen(self) -> None:
        """Open the session again. Raises ``DeviceError`` if nothing answers, but not if damaged frames are the only
        reason."""
        damaged_before = self._damaged_frames()
        try:
            self._client.connect(self._hash)
        except PortGoneError:
            raise
        except DeviceError:
            if self._damaged_frames() == damaged_before:
                raise

    def _damaged_frames(self) -> int:
        return self._client.statistics.damaged

    def _run_once(self, inputs: Sequence[np.ndarray], fresh: bool) -> DeviceAnswer:
        client = self._client
        for position, value in enumerate(inputs):
            client.write_input(position, np.ascontiguousarray(value).tobytes())
        run = client.infer(fresh=fresh)
        layers = client.layer_ticks(self._layers) if self._layers else ()
        sizes = [self._model.tensors[i].nbytes for i in self._model.outputs]
        outputs = b"".join(client.read_output(i, size) for i, size in enumerate(sizes))
        return DeviceAnswer(outputs, run.total, run.init, layers)

    def memory(self) -> DeviceMemory:
        """See :class:`DeviceSession`. Raises :class:`MemoryOverrunError` when guard words around the arena were
        overwritten, or when the stack is full."""
        memory = self._client.memory()
        with suppress(HealthUnavailableError):
            memory = replace(memory, health=self._client.health())
        if memory.guards_damaged:
            raise MemoryOverrunError(
                f"{memory.guards_damaged} guard words around the arena were overwritten.",
                "This is a bug in a kernel or in the plan. Please report it with the model.",
            )
        if memory.stack_overflowed:
            raise MemoryOverrunError(
                f"The stack of {memory.stack_bytes} B is full to its last word and may have overflowed.",
                "This is a bug in the stack prediction. Please report it with the model.",
            )
        return memory


class MonitorSession:
    """A session with the MLPerf Tiny monitor, which resets the model's state before every inference."""

    tick_hz = 1_000_000

    def __init__(self, transport: Transport, generated: Generated, *, timeout_s: float = 10.0) -> None:
        client = MonitorClient(transport)
        client.connect(timeout_s)
        self._monitor = MonitorAnswers(client)

    @property
    def repeated(self) -> int:
        """See :class:`DeviceSession`."""
        return self._monitor.statistics.repeated

    def answer(
        self, inputs: Sequence[np.ndarray], expected: bytes | None, *, fresh: bool = True
    ) -> DeviceAnswer | None:
        """See :class:`DeviceSession`."""
        assert fresh and expected is not None
        return self._monitor.answer(b"".join(np.ascontiguousarray(v).tobytes() for v in inputs), expected)

    def memory(self) -> None:
        """See :class:`DeviceSession`."""


def handshake(
    transport: Transport,
    generated: Generated,
    protocol: str,
    *,
    timeout_s: float = 10.0,
    limits: TimeLimits = DEFAULT_LIMITS,
) -> DeviceSession:
    """Open a session with the device on ``transport``. Raises ``DeviceError`` if nothing answers, or if the firmware
    runs another model. ``limits`` are those of Arenite's protocol."""
    if protocol == "mlperf":
        return MonitorSession(transport, generated, timeout_s=timeout_s)
    return FramedSession(transport, generated, timeout_s=timeout_s, limits=limits)
