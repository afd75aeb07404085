"""Run inferences on a board, one after another, and record when each ran."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from arenite.host.bench.samples import Samples
from arenite.host.link.client import DeviceClient

#: The range of the rest between two inferences, as a share of the last inference, and its minimum in seconds. The share
#: is random within the range, so that a correlation of the times with the current has only one peak. Without a rest the
#: end of an inference would not show in the current.
REST_SHARE, MIN_REST_S = (0.4, 0.8), 0.02
SEED = 0


@dataclass
class InferenceLog:
    """The inferences that ran. ``events``: start and end of each inference by ``time.monotonic``. ``ticks``: the
    duration of each inference in ticks of the device's counter. ``exact``: the number of inferences whose outputs have
    the same bytes as the reference outputs."""

    events: list[tuple[float, float]] = field(default_factory=list)
    ticks: list[int] = field(default_factory=list)
    exact: int = 0


class InferenceLoop:
    """Runs inferences on one device with an open session. ``expected_outputs``: the correct bytes of each output, for
    each sample. ``in_rows``: the device computes while its input arrives, so an inference begins with the first input
    byte."""

    def __init__(
        self,
        client: DeviceClient,
        samples: Samples,
        expected_outputs: list[list[bytes]],
        in_rows: bool = False,
    ) -> None:
        self._client, self._samples, self._expected, self._in_rows = (
            client,
            samples,
            expected_outputs,
            in_rows,
        )
        self._rng = np.random.default_rng(SEED)
        self._next = 0

    def run_next(self, log: InferenceLog) -> None:
        """Run the next sample: its input, an inference, its outputs, and a rest.

        Raises ``DeviceError`` when the device does not answer.
        """
        k = self._next % len(self._samples)
        self._next += 1
        start = time.monotonic()
        for position, value in enumerate(self._samples.inputs[k]):
            self._client.write_input(position, np.ascontiguousarray(value).tobytes())
        if not self._in_rows:
            self._rest(log)
            start = time.monotonic()
        run = self._client.infer(fresh=True)
        log.events.append((start, time.monotonic()))
        log.ticks.append(run.total)
        self._rest(log)
        outputs = [self._client.read_output(i, len(expected)) for i, expected in enumerate(self._expected[k])]
        log.exact += outputs == self._expected[k]

    def run_until(self, is_done: Callable[[InferenceLog], bool], log: InferenceLog) -> None:
        """Run samples until ``is_done`` returns true."""
        while not is_done(log):
            self.run_next(log)

    def _rest(self, log: InferenceLog) -> None:
        """Wait, so that the serial port's input and output do not overlap with the inference in the current."""
        last_s = 0.0 if not log.events else log.events[-1][1] - log.events[-1][0]
        time.sleep(max(MIN_REST_S, last_s * float(self._rng.uniform(*REST_SHARE))))
