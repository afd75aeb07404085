"""Compute on this computer the events that an application finds in a recording, from the same integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from arenite.converters.decision.plan import GatePlan, plan_decision, plan_gate
from arenite.converters.decision.record import recorded_decision, recorded_gate
from arenite.converters.decision.reference import Decider, Event, SampleGate
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.preprocess import open_stream
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.host.app.learned_events import LearnedEvents
from arenite.host.app.sensor_stream import recorded_hop
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import recorded_labels, sample_rate
from arenite.host.build.prepare import Prepared

#: Samples that are given to the features at once: the memory that they need is limited.
_CHUNK = 1 << 16


class _BlockGate:
    """A gate that measures each complete block of the samples since the start, or since a gap."""

    def __init__(self, plan: GatePlan) -> None:
        self._plan, self._gate = plan, SampleGate(plan)
        self.reset()

    def reset(self) -> None:
        self._gate.reset()
        self._held = np.zeros((0, self._plan.channels), np.int16)

    def feed(self, samples: np.ndarray) -> None:
        self._held = np.concatenate([self._held, samples])
        block = self._plan.block
        while len(self._held) >= block:
            self._gate.measure(self._held[:block])
            self._held = self._held[block:]

    @property
    def is_open(self) -> bool:
        return self._gate.is_open


class ReferenceApp:
    """What an application computes: features, gate and decisions with the code of ``arenite``, inferences with
    LiteRT's reference kernels.

    ``windows`` and ``gated`` count windows, and those in which the gate was closed.
    """

    def __init__(self, prepared: Prepared, learned: LearnedEvents | None = None) -> None:
        """Begin with sample 0. ``learned`` is what the application learns. Raises ``UsageError`` if the image does not
        record features, and a decision or an anomaly head."""
        graph = prepared.model.main
        inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
        spec = Preprocessing.from_json(prepared.extra[KEY]).bound(inputs[0])
        source = spec.source
        if isinstance(source, ImuSource):
            hop = recorded_hop(prepared, 1)
            spec = replace(spec, source=replace(source, hop=hop))
            advance, self._channels, self.window, self._holds = 1, source.axes, source.window, True
        else:
            assert isinstance(source, AudioSource)
            sound = plan_sound(spec)
            advance = recorded_hop(prepared, sound.step) // sound.step
            self._channels, self._holds = 1, False
            self.window = (sound.frames - 1) * sound.step + sound.length
        record, gate = recorded_decision(prepared.extra), recorded_gate(prepared.extra)
        rate, labels = sample_rate(prepared.extra), recorded_labels(prepared.extra)
        plan = None if record is None else plan_decision(record, outputs, labels, rate)
        self._output = 0 if plan is None else plan.output
        self._decider, self._learned = None if plan is None else Decider(plan), learned
        self._gate = None if gate is None else _BlockGate(plan_gate(gate, rate))
        self._stream = open_stream(spec, advance)
        self._reference, self._shape = Reference(prepared.reference), inputs[0].shape
        self._is_first = True
        self._newest = np.zeros((1, self._channels), np.int16)
        self.windows = self.gated = 0

    def feed(self, samples: np.ndarray) -> Iterator[Event]:
        """Take int16 samples [samples, channels] and yield the events that they start or end."""
        for start in range(0, len(samples), _CHUNK):
            chunk = samples[start : start + _CHUNK]
            before = self._stream.position
            fed = 0
            for window in self._stream.feed(chunk):
                self._feed_gate(chunk[fed : window.position - before])
                fed = window.position - before
                yield from self._decide(window.features, window.position - 1)
            self._feed_gate(chunk[fed:])
            self._newest = chunk[-1:]

    def lose(self, count: int) -> Iterator[Event]:
        """Lose ``count`` samples: after a gap that is longer than a window, all events end and everything starts again.
        The last sample takes the place of other lost samples of motion, silence that of sound."""
        if count <= self.window:
            value = self._newest if self._holds else np.zeros_like(self._newest)
            yield from self.feed(np.repeat(value, count, axis=0))
            return
        position = self._stream.position
        if self._decider is not None:
            yield from self._decider.end(position - 1)
            self._decider.reset()
        if self._learned is not None:
            yield from self._learned.end(position - 1)
        self._stream.restart(position + count)
        self._is_first = True  # the model's state is reset
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
            if self._decider is not None:
                yield from self._decider.decide(None, at)
            return
        source = features.reshape(self._shape)
        values = self._reference.run([source], reset=self._is_first)
        self._is_first = False
        if self._decider is not None:
            yield from self._decider.decide(values[self._output].reshape(-1), at)
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
    app = ReferenceApp(prepared, learned)
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
