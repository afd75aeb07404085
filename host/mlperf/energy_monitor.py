"""Record the times at which a run of inferences begins and ends, by this computer's clock, for the energy mode.

The device's monitor for the energy mode reports no times in its answers; its timestamps are edges on a pin. The
ordinary monitor reports lap times. Both monitors send a line before the first inference and a line after the last
inference. This module records the times at which these lines arrive.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.link.mlperf_monitor import READY, MonitorClient

#: The number of inferences before the timed inferences.
WARM_UP = 10
_LAP = re.compile(rb"m-lap-us-\d+\r\n")
_START, _DONE = re.compile(rb"m-infer-start-\d+\r\n"), re.compile(rb"m-infer-done\r\n")


@dataclass(frozen=True)
class TimedRun:
    """The start and end of a run of inferences by ``time.monotonic``. Both are late by the delay of the connection."""

    inferences: int
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class EnergyMonitor(MonitorClient):
    """A client that can use the ordinary monitor and the monitor of the energy mode."""

    def timed(self, times: int, warm_up: int) -> TimedRun:
        """Run ``warm_up`` inferences, then ``times`` inferences, and return the start and end of the latter.

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
                    f"The device on {self._transport.port} did not finish {times + warm_up} inferences within "
                    f"{self._infer_timeout_s:g} s.",
                    "Reset it and run the command again.",
                )
            text += self._transport.read(0.2)
            now = time.monotonic()
            # The lap time after the first line arrives a millisecond later than this line, and the lap time before the
            # last line arrives a millisecond earlier than that line.
            started = now if started is None and _START.search(text) else started
            ended = now if ended is None and (len(_LAP.findall(text)) == 2 or _DONE.search(text)) else ended
        # If both lines arrived together, the inferences took less time than the connection needs to report them. The
        # time at which the command was sent is then used as the start.
        started = sent if started == ended else started
        if started is None or ended is None:
            reply_text = text.decode("ascii", "replace").strip()[:80]
            raise DeviceError(
                f"The device on {self._transport.port} sent an unexpected answer to an inference: {reply_text!r}.",
                "Reset it and run again.",
            )
        return TimedRun(times, started, ended)
