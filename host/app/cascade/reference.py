"""Compute on this computer the events of a cascade in a recording, from the same integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from arenite.converters.decision.cascade import hold_plan
from arenite.converters.decision.reference import Event, SampleGate
from arenite.host.app.cascade.plan import CascadePlan
from arenite.host.app.reference import ReferenceApp
from arenite.host.app.reference_model import ReferenceModel


class ReferenceCascade(ReferenceApp):
    """What a cascade computes: the events are those of the large model, which runs while those of the small model keep
    it awake. Its features are computed from all samples, so its window is complete when it wakes. A model with state
    forgets it then.

    ``windows`` and ``gated`` count windows of the small model, ``large_runs`` and ``large_slept`` those of the large
    one.
    """

    def __init__(self, plan: CascadePlan) -> None:
        """Begin with sample 0."""
        super().__init__(plan.small)
        self._skip, self._large = plan.skip, ReferenceModel(plan.large)
        self._hold = SampleGate(hold_plan(plan.hang))
        self.window = plan.window
        self.large_runs = self.large_slept = 0
        self._restart(0)

    def _prepare(self, samples: np.ndarray) -> None:
        skipped = min(self._left, len(samples))
        self._left -= skipped
        for window in self._large.stream.feed(samples[skipped:]):
            self._features[window.position - 1] = window.features

    def _end(self, at: int) -> Iterator[Event]:
        yield from self._large.end(at)

    def _restart(self, position: int) -> None:
        super()._restart(position)
        self._model.end(position)  # their ends are not told
        self._large.restart(position + self._skip)
        self._hold.reset()
        self._left, self._is_awake = self._skip, False
        self._features: dict[int, np.ndarray] = {}  # of windows of the large model, by their last samples

    def _decide(self, features: np.ndarray, at: int) -> Iterator[Event]:
        """Yield the events of the large model at the end of a window of the small one."""
        list(super()._decide(features, at))
        assert self._model.decider is not None
        wakes = self._hold.hold(self._model.decider.is_active)
        window = self._features.pop(at, None)
        if window is None:
            return
        if not wakes:
            self._is_awake = False
            self.large_slept += 1
            yield from self._large.decide(None, at)
            return
        if not self._is_awake:
            self._large.forget_state()
        self._is_awake = True
        self.large_runs += 1
        yield from self._large.decide(self._large.run(window)[1], at)
