"""Check that two models make a cascade, and plan when the windows of the large one end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from arenite.converters.decision.cascade import plan_hang
from arenite.converters.decision.record import recorded_decision, recorded_gate
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.errors import UsageError
from arenite.host.app.learning import recorded_head
from arenite.host.app.sensor_stream import SensorStream
from arenite.host.app.slow_inference import hops_of
from arenite.host.build.prepare import Prepared


@dataclass(frozen=True)
class CascadePlan:
    """How the events of ``small`` wake ``large``.

    Both models get all samples. A window of ``large`` ends with every ``every``-th window of ``small``, from the first
    one on in which it is complete. It runs if an event of ``small`` is active after that window, or was active after
    one of the ``hang`` windows of ``small`` before it.

    Attributes:
        small: the model that wakes the other one.
        large: the model whose events are those of the cascade.
        hang: windows of ``small``.
        every: windows of ``small`` in one of ``large``.
        skip: samples that the features of ``large`` leave out at the start.
        is_shared: whether both models have the same features, which are computed once.
        window: samples that an inference of either model depends on.
        hop: samples from one window of ``small`` to the next.
        rate: samples per second.
    """

    small: Prepared
    large: Prepared
    hang: int
    every: int
    skip: int
    is_shared: bool
    window: int
    hop: int
    rate: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the large model that its user should know."""
        if recorded_gate(self.large.extra) is None:
            return self.large.notes
        return (
            *self.large.notes,
            f"The gate that {self.large.path.name} records is not used: {self.small.path.name} wakes this model.",
        )

    @property
    def sentence(self) -> str:
        """A sentence about when the large model runs."""
        hang_s = self.hang * self.hop / self.rate
        return (
            f"{self.small.path.name} wakes {self.large.path.name}, which still runs for {hang_s:.2f} s after an event. "
            + (
                "Their features are equal and computed once."
                if self.is_shared
                else "Each has features of its own."
            )
        )

    def to_json(self) -> dict[str, Any]:
        """Return the entry ``cascade`` of schema ``arenite.app/1``."""
        return {
            "small": str(self.small.path),
            "large": str(self.large.path),
            "hang_hops": self.hang,
            "large_every": self.every,
            "shared_features": self.is_shared,
        }


def plan_cascade(
    small: Prepared,
    large: Prepared,
    streams: tuple[SensorStream, SensorStream],
    hang_ms: float | None = None,
) -> CascadePlan:
    """Return the plan of a cascade. ``streams`` says how the models take the samples of the sensor, and ``hang_ms`` is
    the hang time in milliseconds, instead of the one that ``small`` records.

    Raises ``UsageError`` if the models cannot hear the same samples, an image records no decision or an anomaly head,
    or the hang time is too long.
    """
    first, second = streams
    for prepared in (small, large):
        _check_decision(prepared)
    _check_equal(small, large, "samples per second", first.rate, second.rate, "rate")
    _check_equal(small, large, "values per sample", first.channels, second.channels, "axes")
    if second.hop % first.hop:
        raise UsageError(
            f"The hop of {large.path.name} is {second.hop} samples, which is not a multiple of {first.hop}, the hop of "
            f"{small.path.name}: both models must end their windows at the same samples.",
            _hop_hint(large, first, second),
        )
    late = first.window - second.window
    record = recorded_decision(small.extra)
    assert record is not None
    return CascadePlan(
        small=small,
        large=large,
        hang=plan_hang(record, first.rate, second.window, hang_ms),
        every=second.hop // first.hop,
        skip=late if late > 0 else late % first.hop,
        is_shared=_features(small) == _features(large),
        window=max(first.window, second.window),
        hop=first.hop,
        rate=first.rate,
    )


def _hop_hint(large: Prepared, first: SensorStream, second: SensorStream) -> str:
    """Return hops that the models can have in a cascade, as a sentence that says what to do."""
    multiple = math.lcm(first.hop, second.step)
    hops = range(multiple, second.longest_hop + 1, multiple)
    if hops:
        end = f"or a multiple of it, up to {hops[-1]}" if len(hops) > 1 else "samples"
        return f"Set hop in [decision] of {large.path.name} to {multiple} {end}."
    hops = hops_of(first, second)
    if not hops:
        return "Train both models with the same step of the rows of features in [preprocessing]."
    equal = next((hop for hop in hops if hop >= first.hop), hops[-1])
    return f"Set hop in [decision] of both models to {equal} samples."


def _check_decision(prepared: Prepared) -> None:
    """Raise ``UsageError`` if an image records no decision, or learns."""
    if recorded_head(prepared.extra) is not None:
        raise UsageError(
            f"{prepared.path.name} records an anomaly head, which a cascade cannot run.",
            "Convert the models of a cascade without --anomaly.",
        )
    if recorded_decision(prepared.extra) is None:
        raise UsageError(
            f"{prepared.path.name} records no decision, and both models of a cascade need one.",
            "Record one: `arenite convert ... --decision FILE.toml`, or `arenite tune` (docs/events.md).",
        )


def _check_equal(small: Prepared, large: Prepared, what: str, first: int, second: int, field: str) -> None:
    """Raise ``UsageError`` if a property of the sensor differs between the models."""
    if first != second:
        raise UsageError(
            f"{small.path.name} takes {first:,} {what}, but {large.path.name} {second:,}: both hear one sensor.",
            f"Train both models with the same {field} in [preprocessing.source].",
        )


def _features(prepared: Prepared) -> Any:
    """Return all that the features of a model depend on, without the time between windows."""
    graph = prepared.model.main
    tensor = graph.tensors[graph.inputs[0]]
    record = Preprocessing.from_json(prepared.extra[KEY]).bound(tensor).to_json()
    source = {key: value for key, value in record["source"].items() if key != "hop"}
    return {**record, "source": source}, tensor.dtype
