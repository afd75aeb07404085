"""Plan decisions and gates for a model: convert thresholds to the integers that smoothed scores are compared with, and
times to samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from arenite.converters.decision.record import MAX_HANG, MAX_SAMPLES, Decision, Gate
from arenite.converters.graph.tensor import Tensor
from arenite.errors import UsageError

#: The fractional bits of an exponential average and of its factor.
FACTOR_BITS = 15
LOWEST_SCORE, HIGHEST_SCORE = -128, 127
#: The bit that turns a stored uint8 score into an int8 score, which is 128 less.
UNSIGNED_FLIP = 0x80
#: The threshold of a class that never has events.
NEVER = 2**31 - 1
#: The state of a class during an event (AR_DECISION_ACTIVE).
ACTIVE = 0xFFFF


@dataclass(frozen=True)
class DecisionPlan:
    """A decision in integers, as in decision.h."""

    output: int  # index of the model's output
    on: tuple[int, ...]  # per class: the smallest smoothed score that can start an event; NEVER for none
    off: tuple[int, ...]  # per class: an event ends at a smoothed score below this
    hops: int  # the smoothed score is the sum of the scores of this many hops
    factor: int  # weight of the newest score with FACTOR_BITS fractional bits; 0 for a sum
    minimum: int
    refractory: int  # samples
    exclusive: bool
    flip: int = 0  # UNSIGNED_FLIP for uint8 scores

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.on)

    @property
    def one(self) -> int:
        """The smoothed score of a constant score of 1."""
        return (1 << FACTOR_BITS) if self.factor else self.hops

    @property
    def max_events(self) -> int:
        """The largest number of events of one hop."""
        return 2 if self.exclusive else self.classes


@dataclass(frozen=True)
class GatePlan:
    """A gate in integers, as in gate.h. ``on`` and ``off`` are variances."""

    on: int
    off: int
    hang: int  # blocks
    channels: int
    block: int  # samples


def plan_decision(
    spec: Decision, outputs: Sequence[Tensor], labels: Sequence[str] = (), rate: int = 0
) -> DecisionPlan:
    """Return the plan of ``spec`` for a model with these outputs.

    ``labels`` are the names of the classes, if there are as many as scores, and ``rate`` is the number of samples per
    second of the preprocessing (0 for none). Raises ``UsageError`` if the output is missing or has neither int8 nor
    uint8 scores, or a class or the rate is unknown.
    """
    tensor = _scores(spec, outputs)
    count = tensor.elements
    labels = labels if len(labels) == count else ()  # they may name the values of another output
    overrides = {_class_number(entry.name, labels, count): entry.name for entry in spec.classes}
    if len(overrides) < len(spec.classes):
        raise UsageError("Decision: a class is listed by its label and by its number.", "Remove one entry.")
    ignored = {_class_number(name, labels, count) for name in spec.ignore}
    factor = round(spec.factor * (1 << FACTOR_BITS)) if spec.smooth == "exponential" else 0
    one = (1 << FACTOR_BITS) if factor else spec.hops
    on, off = [], []
    for k in range(count):
        threshold, release = spec.thresholds(overrides.get(k, ""))
        on.append(NEVER if k in ignored else _smoothed(tensor, threshold, spec.logits, one))
        off.append(_smoothed(tensor, release, spec.logits, one))
    return DecisionPlan(
        output=spec.output,
        on=tuple(on),
        off=tuple(off),
        hops=spec.hops,
        factor=factor,
        minimum=spec.minimum,
        refractory=_refractory(spec, rate),
        exclusive=spec.exclusive,
        flip=UNSIGNED_FLIP if tensor.dtype == "uint8" else 0,
    )


def _scores(spec: Decision, outputs: Sequence[Tensor]) -> Tensor:
    """Return the tensor of the scores. Raises ``UsageError`` if a decision cannot read it."""
    if spec.output >= len(outputs):
        raise UsageError(
            f"Decision: output is {spec.output}, but the model has only {len(outputs)} (the first is output 0).",
            "Give the number of the output that has the scores.",
        )
    tensor = outputs[spec.output]
    if (
        tensor.dtype not in ("int8", "uint8")
        or tensor.quant is None
        or tensor.quant.per_axis
        or not tensor.elements
    ):
        raise UsageError(
            f"Decision: output {spec.output} '{tensor.name}' is {tensor.dtype}, expected int8 or uint8 scores with one "
            "scale.",
            "Convert the float model with `arenite convert` and --calibration.",
        )
    if tensor.elements > 65535:
        raise UsageError(
            f"Decision: output {spec.output} '{tensor.name}' has {tensor.elements:,} scores, expected at most 65,535.",
            "Choose the output of a classifier.",
        )
    return tensor


def score_zero_point(tensor: Tensor) -> int:
    """Return the int8 score that stands for 0: the zero point of the scores, less 128 if they are uint8."""
    return tensor.zero_point - (UNSIGNED_FLIP if tensor.dtype == "uint8" else 0)


def _class_number(name: str, labels: Sequence[str], count: int) -> int:
    """Return the number of the class with the label or number ``name``."""
    if name in labels:
        return list(labels).index(name)
    if name.isdecimal() and int(name) < count:
        return int(name)
    known = f"the labels {', '.join(labels)[:200]}" if labels else f"the numbers 0 to {count - 1}"
    raise UsageError(
        f"Decision: '{name}' is not a class of the model, which has {known}.",
        "Name a label, or record labels with `arenite convert` and --labels.",
    )


def _smoothed(tensor: Tensor, threshold: float, logits: bool, one: int) -> int:
    """Return the smallest smoothed score that reaches ``threshold``, or NEVER if no score does."""
    real = math.log(threshold / (1 - threshold)) if logits else threshold
    smoothed = (
        math.ceil(Fraction(real) * one / Fraction(float(tensor.scale))) + score_zero_point(tensor) * one
    )
    return NEVER if smoothed > HIGHEST_SCORE * one else max(smoothed, LOWEST_SCORE * one)


def _refractory(spec: Decision, rate: int) -> int:
    """Return the refractory time in samples."""
    samples = spec.refractory_hops * spec.hop
    if spec.refractory_ms:
        samples = _samples(spec.refractory_ms, spec.rate or rate, "Decision: refractory_ms")
    if samples > MAX_SAMPLES:
        raise UsageError(
            f"Decision: the refractory time is {samples:,} samples, expected at most {MAX_SAMPLES:,}.",
            "Give a shorter time.",
        )
    return samples


def _samples(milliseconds: float, rate: int, field: str) -> int:
    """Return a time in samples, rounded up. Raises ``UsageError`` without a rate."""
    if not rate:
        raise UsageError(
            f"{field} is {milliseconds:g}, but the number of samples per second is unknown.",
            "Add rate to the record, or give the time in hops or blocks.",
        )
    return math.ceil(Fraction(milliseconds) * rate / 1000)


def plan_gate(spec: Gate, rate: int = 0) -> GatePlan:
    """Return the plan of ``spec``. ``rate`` is the number of samples per second of the preprocessing (0 for none).
    Raises ``UsageError`` if a time is in milliseconds and there is no rate, or is too long."""
    hang = spec.hang_blocks
    if spec.hang_ms:
        hang = -(-_samples(spec.hang_ms, spec.rate or rate, "Gate: hang_ms") // spec.block)
    if hang > MAX_HANG:
        raise UsageError(
            f"Gate: the gate stays open for {hang:,} blocks, expected at most {MAX_HANG:,}.",
            "Give a shorter time.",
        )
    on = _variance(spec.threshold, spec.unit)
    off = on if spec.release is None else _variance(spec.release, spec.unit)
    return GatePlan(on, off, hang, spec.channels, spec.block)


def _variance(level: float, unit: str) -> int:
    """Return the variance of samples with this level."""
    deviation = 32768.0 * 10.0 ** (level / 20) if unit == "dbfs" else level
    return round(deviation * deviation)
