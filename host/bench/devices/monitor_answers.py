"""Get the MLPerf monitor's answer to one sample over a transport that may damage data.

The monitor's text has no checksum, and the official firmware has no command that requests a checksum. A well-formed
answer may therefore be wrong. An answer is accepted if it equals the result of LiteRT's reference kernels for this
input. An answer that differs from it is accepted if ``CONFIRMATIONS`` runs give this answer, where each run sends the
input again. Otherwise the sample has no answer and is missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import PortGoneError

#: The number of times that an answer that differs from the reference must occur to be accepted, and the maximum number
#: of runs of one sample.
CONFIRMATIONS, ATTEMPTS = 3, 8


@dataclass
class AnswerStatistics:
    """Counts over all samples. ``repeated`` is the number of runs after the first run of a sample. ``refused`` is the
    number of runs that ended with an error."""

    repeated: int = 0
    refused: int = 0


class MonitorAnswers:
    """Gets answers from a monitor. A sample is missing after ``attempts`` runs without an accepted answer."""

    def __init__(self, client: MonitorClient, *, attempts: int = ATTEMPTS) -> None:
        self._client = client
        self._attempts = attempts
        self.statistics = AnswerStatistics()

    def answer(self, data: bytes, expected: bytes) -> DeviceAnswer | None:
        """Return the device's answer to the input ``data``, or None if the sample is missing.

        ``expected`` contains LiteRT's output bytes. The ``ticks`` of the answer are the microseconds that the device
        reports. Raises ``DeviceError`` when the port disappears or the device no longer answers.
        """
        outputs_seen: Counter[bytes] = Counter()
        for attempt in range(self._attempts):
            if attempt:
                self.statistics.repeated += 1
                # This resynchronizes the monitor to the start of a command, and checks that the device still answers.
                self._client.connect()
            try:
                self._client.load(data)
                run = self._client.infer(1, 0)
                outputs = self._client.raw_outputs()
            except PortGoneError:
                raise
            except DeviceError:
                self.statistics.refused += 1
                continue
            outputs_seen[outputs] += 1
            if outputs == expected or (
                len(outputs) == len(expected) and outputs_seen[outputs] >= CONFIRMATIONS
            ):
                return DeviceAnswer(outputs, run.microseconds)
        return None
