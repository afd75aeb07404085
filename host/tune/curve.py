"""Measure misses and false accepts over the threshold of one class, and choose a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from arenite.converters.decision.compiled import events_of
from arenite.converters.decision.plan import DecisionPlan, plan_decision, score_zero_point
from arenite.converters.decision.record import Decision
from arenite.converters.graph.tensor import Tensor
from arenite.host.tune.matching import Matches, match, starts_of
from arenite.host.tune.scores import ScoredRecording


@dataclass(frozen=True)
class Target:
    """What each class must reach: at most ``false_accepts_per_hour``, or at most the share ``misses`` of its labels.
    The other one is None."""

    false_accepts_per_hour: float | None = None
    misses: float | None = None

    def is_met(self, matches: Matches, hours: float) -> bool:
        """Return whether these counts of one class reach the target."""
        if self.misses is not None:
            return matches.misses <= self.misses * matches.labels
        assert self.false_accepts_per_hour is not None
        return matches.false_accepts <= self.false_accepts_per_hour * hours

    def rank(self, matches: Matches) -> tuple[int, int]:
        """Return the order of thresholds that reach the target; the smallest is the best."""
        misses, false_accepts = matches.misses, matches.false_accepts
        return (misses, false_accepts) if self.misses is None else (false_accepts, misses)


@dataclass(frozen=True)
class CurvePoint:
    """The counts of one class, if no other class has events, at one threshold and its release."""

    threshold: float
    release: float
    matches: Matches


def candidate_thresholds(spec: Decision, tensor: Tensor) -> Iterator[tuple[float, float]]:
    """Yield thresholds and releases between the stored scores of the output ``tensor``, from low to high.

    The release has the position between the lowest score and the threshold that it has in ``spec``.
    """
    zero = score_zero_point(tensor)
    lowest = (-128 - zero) * tensor.scale
    known_threshold, known_release = (_value(v, spec.logits) for v in spec.thresholds())
    span = known_threshold - lowest
    ratio = (known_release - lowest) / span if span > 0 else 1.0
    ratio = min(max(ratio, 0.0), 1.0)
    last = 0.0
    for stored in range(-127, 128):
        value = (stored - 0.5 - zero) * tensor.scale
        threshold = _recorded(value, spec.logits)
        release = min(_recorded(lowest + ratio * (value - lowest), spec.logits), threshold)
        if spec.logits and not (release > 0 and threshold < 1):
            continue
        if stored == -127 or threshold != last:
            yield threshold, release
        last = threshold


def _value(recorded: float, logits: bool) -> float:
    """Return the real value of the output for a recorded threshold."""
    return math.log(recorded / (1 - recorded)) if logits else recorded


def _recorded(value: float, logits: bool) -> float:
    """Return the threshold to record for a real value of the output, with six digits."""
    if not logits:
        return float(f"{value:.6g}")
    probability = 1 / (1 + math.exp(-value)) if value > -700 else 0.0
    return float(f"{probability:.6g}") if probability < 0.5 else 1 - float(f"{1 - probability:.6g}")


def single_class_plans(spec: Decision, tensor: Tensor, rate: int) -> list[tuple[float, float, DecisionPlan]]:
    """Return the candidate thresholds and releases, each with its plan for one class alone."""
    column = replace(tensor, shape=(1, 1), shape_signature=None)
    plans = []
    for threshold, release in candidate_thresholds(spec, tensor):
        alone = replace(spec, threshold=threshold, release=release, classes=(), ignore=(), output=0)
        plans.append((threshold, release, plan_decision(alone, [column], (), rate)))
    return plans


def class_curve(
    index: int,
    plans: Sequence[tuple[float, float, DecisionPlan]],
    recordings: Sequence[ScoredRecording],
    tolerance: int,
    step: Callable[[], None],
) -> list[CurvePoint]:
    """Return the counts of class ``index`` at each candidate threshold. ``step`` is called after each of them."""
    points = []
    for threshold, release, plan in plans:
        total = Matches()
        for scored in recordings:
            spans = [span for span in scored.recording.spans if span.index == index]
            events = events_of(plan, scored.scores[:, index : index + 1], scored.at, scored.has_scores)
            total.add(match(starts_of(events, 0), spans, tolerance))
        points.append(CurvePoint(threshold, release, total))
        step()
    return points


def choose(curve: Sequence[CurvePoint], target: Target, hours: float) -> CurvePoint:
    """Return the point that reaches the target with the best other figure, in the middle of the longest run of equal
    points. If no point reaches the target, choose among those that are nearest to it."""
    reaching = [k for k, point in enumerate(curve) if target.is_met(point.matches, hours)]
    if reaching:
        ranks = {k: target.rank(curve[k].matches) for k in reaching}
    else:
        ranks = {
            k: (rank[1], rank[0]) for k, point in enumerate(curve) for rank in [target.rank(point.matches)]
        }
    best = min(ranks.values())
    runs: list[list[int]] = []
    for k in sorted(k for k, rank in ranks.items() if rank == best):
        if runs and runs[-1][-1] == k - 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    longest = max(runs, key=len)
    return curve[longest[(len(longest) - 1) // 2]]
