"""The MLPerf monitor's answer to one sample, over a transport that may damage data.

The monitor's text has no checksum, and the official firmware has no request for one. A well-formed answer may
therefore be wrong. An answer is accepted when it equals the result of LiteRT's reference kernels for this
input (then it is right, whatever the transport did), or when the same other answer comes back from
``CONFIRMATIONS`` runs that each began with sending the input again. Otherwise there is no answer, and the
sample is missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import PortGoneError

#: How often an answer that differs from the reference's must repeat to be accepted, and the number of runs in
#: all.
CONFIRMATIONS, ATTEMPTS = 3, 8


@dataclass
class AnswerStatistics:
    """``repeated``: runs beyond the first of their sample; ``refused``: the runs of all samples that ended in
    an error."""

    repeated: int = 0
    refused: int = 0


class MonitorAnswers:
    """One connected monitor. ``attempts``: runs of one sample before it is missing."""

    def __init__(self, client: MonitorClient, *, attempts: int = ATTEMPTS) -> None:
        self._client = client
        self._attempts = attempts
        self.statistics = AnswerStatistics()

    def answer(self, data: bytes, expected: bytes) -> DeviceAnswer | None:
        """The device's output bytes for the input ``data``; ``expected`` are LiteRT's. None: the sample is
        missing.

        ``ticks`` of the answer are the microseconds that the device reports. Raises ``DeviceError`` when the
        port is gone or the device no longer answers.
        """
        outputs_seen: Counter[bytes] = Counter()
        for attempt in range(self._attempts):
            if attempt:
                self.statistics.repeated += 1
                # Finds the start of a command again, and checks that the device still answers.
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
