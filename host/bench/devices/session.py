"""One device's answers to one sample after the other, by either protocol, over a line that may be bad.

What is damaged on the way is asked for again.  An answer that cannot be had is no answer, and never a wrong one:
Arenite's frames carry a CRC-32; what the monitor says is believed by the rule of
``host/bench/devices/monitor_answers.py``.
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
from arenite.host.link.client import DeviceClient, DeviceMemory, DeviceRestartedError, HealthUnavailableError
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import PortGoneError, Transport

#: How often one sample is begun again before it is missing.
ATTEMPTS = 4


class MemoryOverrunError(DeviceError):
    """Memory on the device was written that must not be: no answer can be trusted."""


class DeviceSession(Protocol):
    """A device that was greeted.

    ``tick_hz``: rate of its counter; 0 where the board's profile knows.  ``repeated``: samples that were begun again.
    """

    @property
    def tick_hz(self) -> int: ...

    @property
    def repeated(self) -> int: ...

    def answer(
        self, inputs: Sequence[np.ndarray], expected: bytes | None, *, fresh: bool = True
    ) -> DeviceAnswer | None:
        """What the device gives for ``inputs``, whose right answer is ``expected`` where that is known; None: missing.

        Raises ``DeviceError`` when there is nobody there any more, or it fails again and again in the same way.
        """

    def memory(self) -> DeviceMemory | None:
        """What the device found in its RAM; None where its protocol cannot tell."""


class FramedSession:
    """A device that speaks Arenite's frames."""

    def __init__(self, line: Transport, generated: Generated, *, timeout_s: float = 10.0) -> None:
        self._hash, self._model = generated.sha256, generated.model.main
        self._client = DeviceClient(line)
        info = self._client.connect(self._hash, timeout_s=timeout_s)
        self._layers = info.layer_count
        self.tick_hz = info.tick_hz
        self.repeated = 0

    def answer(
        self, inputs: Sequence[np.ndarray], expected: bytes | None, *, fresh: bool = True
    ) -> DeviceAnswer | None:
        """See :class:`Asker`.  A device with carried state (not ``fresh``) is asked once: what it knew is lost."""
        seen = self._noise()
        faults = 0
        for attempt in range(ATTEMPTS):
            try:
                return self._once(inputs, fresh)
            except PortGoneError:
                raise
            except DeviceError as error:
                faults += isinstance(error, DeviceRestartedError) and error.by_fault
                last = attempt == ATTEMPTS - 1
                if not fresh or faults > 1 or (last and self._noise() == seen):
                    raise  # the line is good: it is the device
            self.repeated += 1
            self._greet_again()
        return None

    def _greet_again(self) -> None:
        """Raises ``DeviceError`` when nobody is there; noise alone is no reason to give up."""
        seen = self._noise()
        try:
            self._client.connect(self._hash)
        except PortGoneError:
            raise
        except DeviceError:
            if self._noise() == seen:
                raise

    def _noise(self) -> int:
        return self._client.statistics.damaged

    def _once(self, inputs: Sequence[np.ndarray], fresh: bool) -> DeviceAnswer:
        client = self._client
        for position, value in enumerate(inputs):
            client.write_input(position, np.ascontiguousarray(value).tobytes())
        run = client.infer(fresh=fresh)
        layers = client.layer_ticks(self._layers) if self._layers else ()
        sizes = [self._model.tensors[i].nbytes for i in self._model.outputs]
        outputs = b"".join(client.read_output(i, size) for i, size in enumerate(sizes))
        return DeviceAnswer(outputs, run.total, run.init, layers)

    def memory(self) -> DeviceMemory:
        """See :class:`Asker`.  Raises :class:`Overrun` for guard words or a stack that were overrun."""
        memory = self._client.memory()
        with suppress(HealthUnavailableError):
            memory = replace(memory, health=self._client.health())
        if memory.guards_damaged:
            raise MemoryOverrunError(
                f"{memory.guards_damaged} guard words around the arena were overwritten.",
                "This is a bug in a kernel or in the plan: please report it with the model.",
            )
        if memory.stack_overflowed:
            raise MemoryOverrunError(
                f"The stack of {memory.stack_bytes} B was used to its last word, and may have overflowed.",
                "This is a bug in the stack prediction: please report it with the model.",
            )
        return memory


class MonitorSession:
    """A device that serves the MLPerf Tiny monitor, which starts every inference with fresh state."""

    tick_hz = 1_000_000

    def __init__(self, line: Transport, generated: Generated, *, timeout_s: float = 10.0) -> None:
        client = MonitorClient(line)
        client.connect(timeout_s)
        self._feeder = MonitorAnswers(client)

    @property
    def repeated(self) -> int:
        """See :class:`Asker`."""
        return self._feeder.statistics.repeated

    def answer(
        self, inputs: Sequence[np.ndarray], expected: bytes | None, *, fresh: bool = True
    ) -> DeviceAnswer | None:
        """See :class:`Asker`."""
        assert fresh and expected is not None
        return self._feeder.answer(b"".join(np.ascontiguousarray(v).tobytes() for v in inputs), expected)

    def memory(self) -> None:
        """See :class:`Asker`."""


def handshake(
    line: Transport, generated: Generated, protocol: str, *, timeout_s: float = 10.0
) -> DeviceSession:
    """The device at the other end of ``line``.  Raises ``DeviceError``: no answer, or other firmware."""
    if protocol == "mlperf":
        return MonitorSession(line, generated, timeout_s=timeout_s)
    return FramedSession(line, generated, timeout_s=timeout_s)
