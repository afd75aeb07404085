"""Find out how a model takes the samples of a sensor: what its image records about features, decision and gate."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.decision.plan import DecisionPlan
from arenite.converters.decision.record import recorded_decision
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.audio.stream import stream_problem
from arenite.converters.processing.imu.plan import ImuPlan
from arenite.errors import UsageError
from arenite.firmware.library.processing import Processing
from arenite.host.app.learning import recorded_head
from arenite.host.build.attachments import audio_rate, sample_rate
from arenite.host.build.prepare import Prepared

MICROPHONE, IMU, ADC = "microphone", "imu", "adc"
#: The sensors that give one sample after the other.
STREAM_SENSORS = (MICROPHONE, IMU, ADC)


@dataclass(frozen=True)
class SensorStream:
    """How a model takes the samples of a sensor.

    Attributes:
        rate: samples per second.
        channels: values of a sample.
        window: samples that an inference depends on.
        hop: samples from one inference to the next.
        step: ``hop`` is a multiple of this number of samples.
        longest_hop: the longest hop for which the model depends on all samples.
        define: the macro with which the model's library is compiled for this hop, without the model's name.
        decision: the decision; None if the image records only an anomaly head.
        holds: whether the last sample takes the place of lost ones; otherwise zeros do.
        record: the record that has the hop: ``decision`` or ``anomaly``.
    """

    rate: int
    channels: int
    window: int
    hop: int
    step: int
    longest_hop: int
    define: str
    decision: DecisionPlan | None
    holds: bool
    record: str


def recorded_hop(prepared: Prepared, step: int) -> tuple[str, int]:
    """Return the name of the record that has the hop, and the hop in samples: that of the decision, or of the anomaly
    head if there is no decision.

    Raises ``UsageError`` if the image records neither, or its ``hop`` is not a multiple of ``step``.
    """
    name, hop = _hop(prepared)
    if hop % step or not hop:
        raise UsageError(
            f"The {name}'s hop is {hop} samples, but there is a row of features every {step} samples.",
            f"Set hop to a multiple of {step} in [{name}].",
        )
    return name, hop


def _hop(prepared: Prepared) -> tuple[str, int]:
    """Return the name of the record that has the hop, and the hop."""
    decision, head = recorded_decision(prepared.extra), recorded_head(prepared.extra)
    if decision is not None:
        return "decision", decision.hop
    if head is not None:
        return "anomaly", head.hop
    raise UsageError(
        f"{prepared.path.name} records no decision, so its scores cannot become events.",
        "Record one: `arenite convert ... --decision FILE.toml`, or `arenite tune` (docs/events.md); or an anomaly "
        "head: --anomaly FILE.toml (docs/anomaly.md).",
    )


def sensor_stream(prepared: Prepared, processing: Processing | None, sensor: str) -> SensorStream:
    """Return how the model takes the samples of ``sensor``, one of ``STREAM_SENSORS``.

    Raises ``UsageError`` if the image does not record features and a decision for it, or they cannot be streamed.
    """
    stream = _sound(prepared, processing) if sensor == MICROPHONE else _motion(prepared, processing)
    gate = None if processing is None else processing.gate
    if gate is not None and gate.channels != stream.channels:
        raise UsageError(
            f"{prepared.path.name} records a gate of {gate.channels} channels, but a sample of the {sensor} has "
            f"{stream.channels}.",
            f"Set channels = {stream.channels} in [gate], and record it again with `arenite convert` and --decision.",
        )
    return stream


def _sound(prepared: Prepared, processing: Processing | None) -> SensorStream:
    features = processing.before if processing is not None else None
    if processing is None or not isinstance(features, (AudioPlan, MicroPlan)):
        raise UsageError(
            f"{prepared.path.name} records no preprocessing of sound.",
            "Record it: `arenite convert ... --preprocessing FILE.toml` (docs/processing.md).",
        )
    problem = stream_problem(features)
    if problem is not None:
        raise UsageError(*problem)
    record, hop = recorded_hop(prepared, features.step)
    most = features.frames * features.step
    if hop > most:
        raise UsageError(
            f"The {record}'s hop is {hop} samples, but the {features.frames} rows of features of a window begin within "
            f"{most} samples, so the model would not hear all samples.",
            f"Set hop in [{record}] to {most} or less.",
        )
    return SensorStream(
        rate=audio_rate(prepared.extra),
        channels=1,
        window=(features.frames - 1) * features.step + features.length,
        hop=hop,
        step=features.step,
        longest_hop=most,
        define=f"ADVANCE={hop // features.step}",
        decision=processing.decision,
        holds=False,
        record=record,
    )


def _motion(prepared: Prepared, processing: Processing | None) -> SensorStream:
    features = processing.before if processing is not None else None
    if processing is None or not isinstance(features, ImuPlan):
        raise UsageError(
            f"{prepared.path.name} records no preprocessing of the source 'imu'.",
            "Record it: `arenite convert ... --preprocessing FILE.toml` (docs/processing.md, Motion).",
        )
    rate = sample_rate(prepared.extra)
    if not rate:
        raise UsageError(
            f"{prepared.path.name} records a source whose rate is not a whole number of samples per second.",
            "Set rate in [preprocessing.source] to a whole number.",
        )
    record, hop = recorded_hop(prepared, 1)
    return SensorStream(
        rate=rate,
        channels=features.axes,
        window=features.window,
        hop=hop,
        step=1,
        longest_hop=features.window,
        define=f"HOP={hop}",
        decision=processing.decision,
        holds=True,
        record=record,
    )
