"""Ask the monitor for the answer to one sample, over a line that may lie.

The monitor's text has no checksum, and the official firmware can neither be asked for one.  So nothing that it says is
believed for being well-formed.  An answer is taken when it is what LiteRT's reference kernels give for this input (then
it is right, whatever the line did), or when the same other answer comes back from ``CONFIRMATIONS`` runs that each
began with sending the input again.  Everything else is no answer: the sample is missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import PortGoneError

#: How often the same answer that is not the reference's must come to be the device's, and runs in all.
CONFIRMATIONS, ATTEMPTS = 3, 8


@dataclass
class AnswerStatistics:
    """``repeated``: runs beyond the first of their sample; ``refused``: how many of all runs ended in an error."""

    repeated: int = 0
    refused: int = 0


class MonitorAnswers:
    """One monitor that was connected.  ``attempts``: runs of one sample before it is missing."""

    def __init__(self, client: MonitorClient, *, attempts: int = ATTEMPTS) -> None:
        self._client = client
        self._attempts = attempts
        self.statistics = AnswerStatistics()

    def answer(self, data: bytes, want: bytes) -> DeviceAnswer | None:
        """The device's output bytes for the input ``data``, of which LiteRT makes ``want``; None: missing.

        ``ticks`` of the answer are the microseconds that the device told.
        Raises ``DeviceError`` when the port is gone, or nobody is there any more.
        """
        outputs_seen: Counter[bytes] = Counter()
        for attempt in range(self._attempts):
            if attempt:
                self.statistics.repeated += 1
                # Finds the beginning of a command again, and sees that the device still lives.
                self._client.connect()
            try:
                self._client.load(data)
                run = self._client.infer(1, 0)
                got = self._client.raw_outputs()
            except PortGoneError:
                raise
            except DeviceError:
                self.statistics.refused += 1
                continue
            outputs_seen[got] += 1
            if got == want or (len(got) == len(want) and outputs_seen[got] >= CONFIRMATIONS):
                return DeviceAnswer(got, run.microseconds)
        return None
