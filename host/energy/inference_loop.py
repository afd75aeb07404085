"""Runs inferences on a board, one after another, and records when each ran."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from arenite.host.bench.samples import Samples
from arenite.host.link.client import DeviceClient

#: Rest between two inferences in parts of one, and its minimum. It varies, so that a correlation of the times
#: with the current has one peak; without a rest the end of an inference would not show in the current.
PAUSE_COUNT, REST_S = (0.4, 0.8), 0.02
SEED = 0


@dataclass
class InferenceLog:
    """``events``: start and end of each inference by ``time.monotonic``; ``exact``: how many gave the
    reference's bytes; ``ticks`` of the device's counter."""

    events: list[tuple[float, float]] = field(default_factory=list)
    ticks: list[int] = field(default_factory=list)
    exact: int = 0


class InferenceLoop:
    """One device with an open session. ``expected_outputs``: the right output bytes of each sample;
    ``in_rows``: the device computes while its input arrives, so that an inference begins with its input."""

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

    def once(self, log: InferenceLog) -> None:
        """Run the next sample: its input, an inference, its outputs, and a rest.

        Raises ``DeviceError`` when the device does not answer.
        """
        k = self._next % len(self._samples)
        self._next += 1
        before = time.monotonic()
        for position, value in enumerate(self._samples.inputs[k]):
            self._client.write_input(position, np.ascontiguousarray(value).tobytes())
        if not self._in_rows:
            self._rest(log)
            before = time.monotonic()
        run = self._client.infer(fresh=True)
        log.events.append((before, time.monotonic()))
        log.ticks.append(run.total)
        self._rest(log)
        outputs = [self._client.read_output(i, len(expected)) for i, expected in enumerate(self._expected[k])]
        log.exact += outputs == self._expected[k]

    def until(self, done: Callable[[InferenceLog], bool], log: InferenceLog) -> None:
        """Run samples until ``done`` returns true."""
        while not done(log):
            self.once(log)

    def _rest(self, log: InferenceLog) -> None:
        """Input and output of the serial port are not part of the inference: keep them apart in the current."""
        longest = 0.0 if not log.events else log.events[-1][1] - log.events[-1][0]
        time.sleep(max(REST_S, longest * float(self._rng.uniform(*PAUSE_COUNT))))
