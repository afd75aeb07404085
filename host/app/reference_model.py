"""Compute on this computer what an application does with one model: its features, inferences and decisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.decision.plan import GatePlan, plan_decision, plan_gate
from arenite.converters.decision.record import recorded_decision, recorded_gate
from arenite.converters.decision.reference import Decider, Event, SampleGate
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.preprocess import open_stream
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.host.app.sensor_stream import recorded_hop
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import recorded_labels, sample_rate
from arenite.host.build.prepare import Prepared


class BlockGate:
    """A gate that measures each complete block of the samples since the start, or since a gap."""

    def __init__(self, plan: GatePlan) -> None:
        self._plan, self._gate = plan, SampleGate(plan)
        self.reset()

    def reset(self) -> None:
        """Close the gate, and forget the samples of the block that is not complete."""
        self._gate.reset()
        self._held = np.zeros((0, self._plan.channels), np.int16)

    def feed(self, samples: np.ndarray) -> None:
        """Take int16 samples [samples, channels]."""
        self._held = np.concatenate([self._held, samples])
        block = self._plan.block
        while len(self._held) >= block:
            self._gate.measure(self._held[:block])
            self._held = self._held[block:]

    @property
    def is_open(self) -> bool:
        """Whether the model must run."""
        return self._gate.is_open


def block_gate(prepared: Prepared) -> BlockGate | None:
    """Return the gate that an image records, or None."""
    gate = recorded_gate(prepared.extra)
    return None if gate is None else BlockGate(plan_gate(gate, sample_rate(prepared.extra)))


class ReferenceModel:
    """A model of an application: features and decisions with the code of ``arenite``, inferences with LiteRT's
    reference kernels.

    ``stream`` computes the features of windows, ``decider`` the events; it is None if the image records no decision.
    """

    def __init__(self, prepared: Prepared) -> None:
        """Begin with sample 0. Raises ``UsageError`` if the image does not record features, and a decision or an
        anomaly head."""
        graph = prepared.model.main
        inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
        spec = Preprocessing.from_json(prepared.extra[KEY]).bound(inputs[0])
        source = spec.source
        if isinstance(source, ImuSource):
            _, hop = recorded_hop(prepared, 1)
            spec = replace(spec, source=replace(source, hop=hop))
            advance, self.channels, self.window, self.holds = 1, source.axes, source.window, True
        else:
            assert isinstance(source, AudioSource)
            sound = plan_sound(spec)
            advance = recorded_hop(prepared, sound.step)[1] // sound.step
            self.channels, self.holds = 1, False
            self.window = (sound.frames - 1) * sound.step + sound.length
        record = recorded_decision(prepared.extra)
        rate, labels = sample_rate(prepared.extra), recorded_labels(prepared.extra)
        plan = None if record is None else plan_decision(record, outputs, labels, rate)
        self._output = 0 if plan is None else plan.output
        self.decider = None if plan is None else Decider(plan)
        self.stream = open_stream(spec, advance)
        self._reference, self._shape = Reference(prepared.reference), inputs[0].shape
        self._is_first = True

    def forget_state(self) -> None:
        """Reset what a model with state remembers, before the next inference."""
        self._is_first = True

    def run(self, features: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the input and the outputs of an inference."""
        source = features.reshape(self._shape)
        values = self._reference.run([source], reset=self._is_first)
        self._is_first = False
        return source, list(values)

    def decide(self, values: list[np.ndarray] | None, at: int) -> list[Event]:
        """Return the events of a window whose last sample is ``at``, from the outputs of the model, or None if it did
        not run."""
        if self.decider is None:
            return []
        return self.decider.decide(None if values is None else values[self._output].reshape(-1), at)

    def end(self, at: int) -> list[Event]:
        """Return the ends of the events that have started, before a gap after sample ``at``, and forget all scores."""
        if self.decider is None:
            return []
        events = self.decider.end(at)
        self.decider.reset()
        return events

    def restart(self, position: int) -> None:
        """Forget all samples and the state. ``position`` is the index of the next sample."""
        self.stream.restart(position)
        self.forget_state()
