"""The monitor in the energy mode: the times at which inferences begin and end, by this computer's clock.

In the energy mode the device reports no times in its answers: its timestamps are edges on a pin. The ordinary monitor
reports lap times. Both send a line before the first inference and after the last, and this module records when these
lines arrive.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.link.mlperf_monitor import READY, MonitorClient

#: Number of inferences before the timed ones.
WARM_UP = 10
_LAP = re.compile(rb"m-lap-us-\d+\r\n")
_START, _DONE = re.compile(rb"m-infer-start-\d+\r\n"), re.compile(rb"m-infer-done\r\n")


@dataclass(frozen=True)
class TimedRun:
    """Start and end of a run by ``time.monotonic``. Both are late by the delay of the connection."""

    inferences: int
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class EnergyMonitor(MonitorClient):
    """A client of the ordinary monitor or that of the energy mode, on one transport."""

    def timed(self, times: int, warm_up: int) -> TimedRun:
        """Run ``warm_up`` inferences, then ``times`` inferences between the two recorded times.

        Raises ``DeviceError`` if the device does not answer, or sends an unexpected answer.
        """
        self._transport.write(f"infer {times} {warm_up}%".encode("ascii"))
        text = b""
        started: float | None = None
        ended: float | None = None
        sent = time.monotonic()
        end = sent + self._infer_timeout_s
        while not text.endswith(READY):
            if time.monotonic() > end:
                raise DeviceError(
                    f"The device on {self._transport.port} did not answer within {self._infer_timeout_s:g} s.",
                    "Reset it, or allow more time per inference.",
                )
            text += self._transport.read(0.2)
            now = time.monotonic()
            # The lap time after the first line is a millisecond late, and the one before the last line a
            # millisecond early.
            started = now if started is None and _START.search(text) else started
            ended = now if ended is None and (len(_LAP.findall(text)) == 2 or _DONE.search(text)) else ended
        # If both lines arrived together, the inferences took less time than the connection needs to report them, and
        # only the time of the command is known.
        started = sent if started == ended else started
        if started is None or ended is None:
            reply_text = text.decode("ascii", "replace").strip()[:80]
            raise DeviceError(
                f"The device on {self._transport.port} sent an unexpected answer to an inference: {reply_text!r}.",
                "Reset it and run again.",
            )
        return TimedRun(times, started, ended)
