"""Compute on this computer the events that an application finds in a recording, from the same integers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from arenite.converters.decision.reference import Event
from arenite.host.app.learned_events import LearnedEvents
from arenite.host.app.reference_model import ReferenceModel, block_gate
from arenite.host.build.prepare import Prepared

#: Samples that are given to the features at once: the memory that they need is limited.
_CHUNK = 1 << 16


class ReferenceApp:
    """What an application computes: features, gate and decisions with the code of ``arenite``, inferences with
    LiteRT's reference kernels.

    ``windows`` and ``gated`` count windows, and those in which the gate was closed.
    """

    def __init__(self, prepared: Prepared, learned: LearnedEvents | None = None) -> None:
        """Begin with sample 0. ``learned`` is what the application learns. Raises ``UsageError`` if the image does not
        record features, and a decision or an anomaly head."""
        self._model, self._gate, self._learned = ReferenceModel(prepared), block_gate(prepared), learned
        self.window = self._model.window
        self._newest = np.zeros((1, self._model.channels), np.int16)
        self.windows = self.gated = 0

    def feed(self, samples: np.ndarray) -> Iterator[Event]:
        """Take int16 samples [samples, channels] and yield the events that they start or end."""
        for start in range(0, len(samples), _CHUNK):
            chunk = samples[start : start + _CHUNK]
            before = self._model.stream.position
            fed = 0
            self._prepare(chunk)
            for window in self._model.stream.feed(chunk):
                self._feed_gate(chunk[fed : window.position - before])
                fed = window.position - before
                yield from self._decide(window.features, window.position - 1)
            self._feed_gate(chunk[fed:])
            self._newest = chunk[-1:]

    def lose(self, count: int) -> Iterator[Event]:
        """Lose ``count`` samples: after a gap that is longer than a window, all events end and everything starts again.
        The last sample takes the place of other lost samples of motion, silence that of sound."""
        if count <= self.window:
            value = self._newest if self._model.holds else np.zeros_like(self._newest)
            yield from self.feed(np.repeat(value, count, axis=0))
            return
        position = self._model.stream.position
        yield from self._end(position - 1)
        self._restart(position + count)

    def _prepare(self, samples: np.ndarray) -> None:
        """Called with the samples that are fed next."""

    def _end(self, at: int) -> Iterator[Event]:
        """End all events before a gap after sample ``at``."""
        yield from self._model.end(at)
        if self._learned is not None:
            yield from self._learned.end(at)

    def _restart(self, position: int) -> None:
        """Start again after a gap. ``position`` is the index of the next sample."""
        self._model.restart(position)
        if self._gate is not None:
            self._gate.reset()

    def _feed_gate(self, samples: np.ndarray) -> None:
        if self._gate is not None:
            self._gate.feed(samples)

    def _decide(self, features: np.ndarray, at: int) -> Iterator[Event]:
        """Yield the events of a window whose last sample is ``at``. If the gate is closed, the model does not run."""
        self.windows += 1
        if self._gate is not None and not self._gate.is_open:
            self.gated += 1
            yield from self._model.decide(None, at)
            return
        source, values = self._model.run(features)
        yield from self._model.decide(values, at)
        if self._learned is not None:
            yield from self._learned.window(values, source, at)


def reference_events(
    prepared: Prepared,
    samples: np.ndarray,
    arrive: np.ndarray | None = None,
    learned: LearnedEvents | None = None,
) -> Iterator[Event]:
    """Yield the events in int16 ``samples`` [samples] or [samples, channels], of which the sensor loses those that are
    false in ``arrive``, bool [samples]; None if all arrive. ``learned`` is what the application learns.

    Raises ``UsageError`` if the image does not record features and a decision.
    """
    yield from events_with_gaps(ReferenceApp(prepared, learned), samples, arrive)


def events_with_gaps(app: ReferenceApp, samples: np.ndarray, arrive: np.ndarray | None) -> Iterator[Event]:
    """Yield the events that ``app`` finds in ``samples``, of which the sensor loses some, as in
    ``reference_events``."""
    values = samples.reshape(len(samples), -1)
    if arrive is None:
        yield from app.feed(values)
        return
    edges = [0, *(np.flatnonzero(np.diff(arrive)) + 1).tolist(), len(values)]
    for start, end in pairwise(edges):
        if start == end:
            continue
        if arrive[start]:
            yield from app.feed(values[start:end])
        elif end < len(values):  # nobody tells of a gap after the last sample
            yield from app.lose(end - start)
