"""Compute on this computer the events that an application finds in a recording, from the same integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from arenite.converters.decision.plan import plan_decision
from arenite.converters.decision.record import recorded_decision
from arenite.converters.decision.reference import Decider, Event
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.preprocess import open_stream
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.host.app.generate import rows_between_windows
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import audio_rate, recorded_labels
from arenite.host.build.prepare import Prepared

#: Samples that are given to the features at once: the memory that they need is limited.
_CHUNK = 1 << 16


def reference_events(prepared: Prepared, samples: np.ndarray) -> Iterator[Event]:
    """Yield the events in int16 ``samples``: features and decisions with the code of ``arenite``, inferences with
    LiteRT's reference kernels.

    Raises ``UsageError`` if the image does not record features of sound and a decision.
    """
    graph = prepared.model.main
    inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
    spec = Preprocessing.from_json(prepared.extra[KEY]).bound(inputs[0])
    advance = rows_between_windows(prepared, plan_sound(spec).step)
    record = recorded_decision(prepared.extra)
    assert record is not None
    plan = plan_decision(record, outputs, recorded_labels(prepared.extra), audio_rate(prepared.extra))
    stream, decider = open_stream(spec, advance), Decider(plan)
    reference = Reference(prepared.reference)
    first = True
    for start in range(0, len(samples), _CHUNK):
        for window in stream.feed(samples[start : start + _CHUNK]):
            values = reference.run([window.features.reshape(inputs[0].shape)], reset=first)
            first = False
            yield from decider.decide(values[plan.output].reshape(-1), window.position - 1)
