"""Tune a decision: compute scores, measure every threshold of every class, choose thresholds, and check them
together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.compiled import events_of
from arenite.converters.decision.plan import DecisionPlan, plan_decision, plan_gate
from arenite.converters.decision.record import (
    KEY,
    ClassThresholds,
    Decision,
    recorded_decision,
    recorded_gate,
)
from arenite.converters.graph.resource_variables import handle_names
from arenite.converters.graph.signal.operators import signal_states
from arenite.converters.graph.tensor import Tensor
from arenite.converters.importers.load import load_any_image
from arenite.converters.processing.audio.front_end import is_micro, plan_sound
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.audio.stream import check_stream
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.image import Image, image_bytes, to_flatbuffer
from arenite.errors import UsageError
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import recorded_labels, recorded_preprocessing
from arenite.host.tune.curve import CurvePoint, Target, choose, class_curve, single_class_plans
from arenite.host.tune.matching import Matches, match, starts_of
from arenite.host.tune.recordings import BACKGROUND_FOLDERS, ClassNames, Recording, read_recordings
from arenite.host.tune.scores import HopScorer, ScoredRecording

SCHEMA = "arenite.tune/1"
#: Labels of classes that have no events if no decision says otherwise.
_NO_EVENTS = ("silence", "_silence_", "unknown", "_unknown_", "other", *BACKGROUND_FOLDERS)

#: Seconds for which a model with state is expected to remember what it heard.
_STATE_S = 1

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class TuneOptions:
    """The settings of a tuning. ``decision`` replaces that of the image; ``hop_ms`` and ``tolerance_ms`` are None for
    the defaults. With ``is_check``, the recorded thresholds are measured and not changed."""

    target: Target
    decision: Decision | None = None
    hop_ms: float | None = None
    tolerance_ms: float | None = None
    is_check: bool = False


@dataclass(frozen=True)
class ClassResult:
    """The result of one class: the chosen point of its ``curve`` (None without labels), and the counts of all classes
    running together with the chosen thresholds."""

    index: int
    name: str
    threshold: float
    release: float
    curve: tuple[CurvePoint, ...]
    matches: Matches


@dataclass(frozen=True)
class TuneResult:
    """The result of a tuning. ``decision`` has the chosen thresholds, and ``image`` are the bytes of the model with
    this decision."""

    decision: Decision
    image: bytes
    classes: tuple[ClassResult, ...]
    recordings: tuple[ScoredRecording, ...]
    rate: int
    target: Target
    notes: tuple[str, ...]

    @property
    def hours(self) -> float:
        """The length of all recordings without the gaps between clips."""
        return sum(s.recording.recorded_samples for s in self.recordings) / self.rate / 3600

    @property
    def met(self) -> bool:
        """Whether every class reaches the target, with all classes together."""
        return all(self.target.is_met(c.matches, self.hours) for c in self.classes)

    def to_json(self) -> dict[str, Any]:
        """Return the result as an ``arenite.tune/1`` object, without the paths of model and output."""
        hours, runs = self.hours, [s.has_scores for s in self.recordings]
        return {
            "schema": SCHEMA,
            "target": {
                "false_accepts_per_hour": self.target.false_accepts_per_hour,
                "misses": self.target.misses,
            },
            "met": self.met,
            "hours": hours,
            "hop_ms": 1000 * self.decision.hop / self.rate,
            "inferences": sum(int(run.sum()) for run in runs),
            "recordings": [
                {
                    "path": s.recording.name,
                    "seconds": s.recording.recorded_samples / self.rate,
                    "labels": len(s.recording.spans),
                }
                for s in self.recordings
            ],
            "classes": [
                {
                    "index": c.index,
                    "name": c.name,
                    "threshold": c.threshold,
                    "release": c.release,
                    **_counts(c.matches, hours, self.rate),
                    "curve": [
                        {"threshold": p.threshold, "misses": p.matches.misses}
                        | {"false_accepts": p.matches.false_accepts}
                        for p in c.curve
                    ],
                }
                for c in self.classes
            ],
            "total": _counts(self.total, hours, self.rate),
            "decision": self.decision.to_json(),
            "notes": list(self.notes),
        }

    @property
    def total(self) -> Matches:
        """The counts of all classes."""
        total = Matches()
        for result in self.classes:
            total.add(result.matches)
        return total


def _counts(matches: Matches, hours: float, rate: int) -> dict[str, Any]:
    delay = None if not matches.delays else 1000 * float(np.median(matches.delays)) / rate
    return {
        "labels": matches.labels,
        "misses": matches.misses,
        "false_accepts": matches.false_accepts,
        "false_accepts_per_hour": matches.false_accepts / hours,
        "delay_ms": delay,
    }


@dataclass(frozen=True)
class _Setup:
    """What the tuning needs to know about the model."""

    image: Image
    spec: Preprocessing
    rate: int
    window: int
    labels: tuple[str, ...]
    decision: Decision
    scores: Tensor
    advance: int | None  # new rows from window to window, if features are those of an endless recording
    has_state: bool  # whether the model remembers earlier windows

    def plan(self, decision: Decision) -> DecisionPlan:
        """Return the plan of ``decision`` for all classes."""
        graph = self.image.model.main
        return plan_decision(decision, [graph.tensors[i] for i in graph.outputs], self.labels, self.rate)

    @property
    def classes(self) -> ClassNames:
        """The names of all classes."""
        count = self.scores.elements
        names = self.labels if len(self.labels) == count else tuple(map(str, range(count)))
        ignored = {names.index(n) if n in names else int(n) for n in self.decision.ignore}
        return ClassNames(names, frozenset(ignored))


def tune(path: Path, data: Sequence[Path], options: TuneOptions, progress: Progress) -> TuneResult:
    """Return the tuned decision of the image at ``path``.

    Args:
        path: an image with a preprocessing of sound and int8 scores.
        data: labelled recordings, as ``recordings.read_recordings`` takes them.
        options: the target and the settings.
        progress: function that is called as ``progress(stage, done, total)``.

    Raises:
        UsageError: the model records no preprocessing of sound, the data has no labels, or an option does not fit.
    """
    setup = _setup(path, options)
    plan = setup.plan(setup.decision)
    gap = setup.window + plan.refractory
    recordings, unknown = read_recordings(data, setup.classes, setup.rate, gap)
    labelled = sorted({span.index for recording in recordings for span in recording.spans})
    if not labelled:
        raise UsageError(
            "The data has no event of any class.",
            "Give recordings with labels, or folders named after classes.",
        )
    scored = _score(setup, recordings, progress)
    tolerance = _tolerance(setup, options)
    plans = single_class_plans(setup.decision, setup.scores, setup.rate)
    hours = sum(r.recorded_samples for r in recordings) / setup.rate / 3600
    done, curves = 0, {}

    def step() -> None:
        nonlocal done
        done += 1
        progress("thresholds", done, len(plans) * len(labelled))

    for index in labelled:
        curves[index] = class_curve(index, plans, scored, tolerance, step)
    chosen = {}
    if not options.is_check:
        chosen = {index: choose(curve, options.target, hours) for index, curve in curves.items()}
    names = setup.classes.names
    others = [entry for entry in setup.decision.classes if _index(entry.name, names) not in chosen]
    own = [ClassThresholds(names[k], point.threshold, point.release) for k, point in chosen.items()]
    decision = replace(setup.decision, classes=(*others, *own))
    together = _together(setup.plan(decision), scored, tolerance)
    results = []
    for index, name in enumerate(names):
        if index not in setup.classes.ignored:
            entries = [entry.name for entry in decision.classes if _index(entry.name, names) == index]
            thresholds = decision.thresholds(entries[0] if entries else "")
            curve = tuple(curves.get(index, ()))
            results.append(ClassResult(index, name, *thresholds, curve, together[index]))
    extra = {**setup.image.extra, KEY: decision.to_json()}
    return TuneResult(
        decision=decision,
        image=_image(setup.image, extra),
        classes=tuple(results),
        recordings=tuple(scored),
        rate=setup.rate,
        target=options.target,
        notes=tuple(_notes(setup, unknown, labelled, hours, options)),
    )


def _index(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else int(name)


def _setup(path: Path, options: TuneOptions) -> _Setup:
    """Read the model and check that it can be tuned."""
    image = load_any_image(path)
    spec = recorded_preprocessing(image.extra)
    if spec is None or not isinstance(spec.source, AudioSource):
        what = "no preprocessing" if spec is None else f"a preprocessing of kind {spec.source.kind}"
        raise UsageError(
            f"{path} records {what}, but tuning reads recordings of sound.",
            "Convert the model with --preprocessing FILE.toml, whose source is audio (docs/processing.md).",
        )
    gate = recorded_gate(image.extra)
    if gate is not None and gate.channels != 1:
        raise UsageError(
            f"{path} records a gate with {gate.channels} channels, expected 1: the preprocessing takes sound with one "
            "channel.",
            "Set channels = 1 in [gate], and record it again with `arenite convert` and --decision.",
        )
    graph = image.model.main
    if len(graph.inputs) != 1:
        raise UsageError(
            f"{path} has {len(graph.inputs)} inputs, expected one, which is filled by the preprocessing.",
            "Tune a model that takes only sound.",
        )
    rate, window = spec.source.rate, spec.source.samples
    labels = recorded_labels(image.extra)
    known = options.decision or recorded_decision(image.extra)
    if known is None and options.is_check:
        raise UsageError(
            f"{path} records no decision that could be checked.",
            "Tune it first: without --check, and with -o.",
        )
    bound = spec.bound(graph.tensors[graph.inputs[0]])
    plan = plan_sound(bound)
    has_state = bool(handle_names(graph) or signal_states(graph)) or any(t.is_variable for t in graph.tensors)
    is_stream = is_micro(spec) or has_state
    decision = known or _default(labels, window, rate)
    usual = (
        (plan.frames if has_state else max(plan.frames // 8, 1)) * plan.step
        if is_stream
        else max(window // 8, 1)
    )
    decision = _with_hop(decision, options.hop_ms, usual, rate)
    outputs = [graph.tensors[i] for i in graph.outputs]
    plan_decision(decision, outputs, labels, rate)  # raises an error if it does not fit
    if plan.frames * plan.features != graph.tensors[graph.inputs[0]].elements:
        raise UsageError(
            f"The preprocessing of {path} computes {plan.frames}x{plan.features} values, which is not the size of the "
            "model's input.",
            "Convert the model again with the preprocessing of its training.",
        )
    advance = None
    if is_stream:
        window = (plan.frames - 1) * plan.step + plan.length
        advance = _advance(plan, decision.hop)
    return _Setup(image, bound, rate, window, labels, decision, outputs[decision.output], advance, has_state)


def _advance(plan: AudioPlan | MicroPlan, hop: int) -> int:
    """Return the rows of features from window to window. Raises ``UsageError`` if windows cannot be ``hop`` samples
    apart, or the features need a whole recording."""
    advance, rest = divmod(hop, plan.step)
    if rest or not 1 <= advance <= plan.frames:
        raise UsageError(
            f"The time between inferences is {hop} samples, but the features advance by {plan.step} samples per row, "
            f"and a window has {plan.frames} rows.",
            f"Set hop in [decision] to a multiple of {plan.step}, at most {plan.frames * plan.step}.",
        )
    check_stream(plan, advance)
    return advance


def _default(labels: Sequence[str], window: int, rate: int) -> Decision:
    """Return the decision for a model that records none: the mean of three hops, and a refractory time of a window."""
    ignored = tuple(label for label in labels if label.lower() in _NO_EVENTS)
    return Decision(
        threshold=0.5,
        release=0.375,
        smooth="mean",
        hops=3,
        refractory_ms=1000 * window / rate,
        ignore=ignored,
    )


def _with_hop(decision: Decision, hop_ms: float | None, usual: int, rate: int) -> Decision:
    """Return ``decision`` with the samples from one hop to the next: ``hop_ms``, its own, or ``usual``."""
    if hop_ms is not None:
        hop = round(hop_ms * rate / 1000)
        if not 1 <= hop <= 60 * rate:
            raise UsageError(f"--hop-ms is {hop_ms:g}, expected a time up to 60,000.", "Give for example 50.")
        return replace(decision, hop=hop)
    return decision if decision.hop > 1 else replace(decision, hop=usual)


def _tolerance(setup: _Setup, options: TuneOptions) -> int:
    """Return the samples after the end of a label in which its event may start: a window and the smoothed hops. A model
    with state answers later, so its window counts as a second at least."""
    if options.tolerance_ms is not None:
        return round(options.tolerance_ms * setup.rate / 1000)
    decision = setup.decision
    heard = max(setup.window, _STATE_S * setup.rate) if setup.has_state else setup.window
    return heard + (decision.hops + decision.minimum - 1) * decision.hop


def _score(setup: _Setup, recordings: Sequence[Recording], progress: Progress) -> list[ScoredRecording]:
    """Run the model on all hops."""
    gate = recorded_gate(setup.image.extra)
    graph = setup.image.model.main
    scorer = HopScorer(
        model=Reference(to_flatbuffer(setup.image.model)),
        spec=setup.spec,
        shape=graph.tensors[graph.inputs[0]].shape,
        output=setup.decision.output,
        classes=setup.scores.elements,
        window=setup.window,
        hop=setup.decision.hop,
        gate=None if gate is None else plan_gate(gate, setup.rate),
        advance=setup.advance,
    )
    total = sum(int(scorer.hops_of(recording)[1].sum()) for recording in recordings)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress("scores", done, total)

    return [scorer.score(recording, step) for recording in recordings]


def _together(plan: DecisionPlan, recordings: Sequence[ScoredRecording], tolerance: int) -> list[Matches]:
    """Return the counts of each class if all classes decide together."""
    totals = [Matches() for _ in range(plan.classes)]
    for scored in recordings:
        events = events_of(plan, scored.scores, scored.at, scored.has_scores)
        for index, total in enumerate(totals):
            spans = [span for span in scored.recording.spans if span.index == index]
            total.add(match(starts_of(events, index), spans, tolerance))
    return totals


def _image(image: Image, extra: Mapping[str, Any]) -> bytes:
    """Return the bytes of the image with other metadata, and the same model and plan."""
    return image_bytes(image.model, image.plan, source_sha256=image.source_sha256, extra=extra)


def _notes(
    setup: _Setup, unknown: Mapping[str, int], labelled: Sequence[int], hours: float, options: TuneOptions
) -> list[str]:
    notes = []
    if unknown:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(unknown.items()))
        notes.append(
            f"These labels are no classes of the model, so no event is expected there: {listed[:300]}."
        )
    names = setup.classes.names
    absent = [n for k, n in enumerate(names) if k not in labelled and k not in setup.classes.ignored]
    if absent and not options.is_check:
        notes.append(
            f"The data has no events of these classes, so their thresholds stay: {', '.join(absent)[:300]}."
        )
    events = [n for k, n in enumerate(names) if n.lower() in _NO_EVENTS and k not in setup.classes.ignored]
    if events:
        notes.append(
            f"These classes have events; add them to `ignore` if they must not: {', '.join(events)[:300]}."
        )
    rate = options.target.false_accepts_per_hour
    if rate is not None and rate * hours < 1 and not options.is_check:
        notes.append(
            f"The data has {hours:.2f} hours, where one false accept is {1 / hours:.1f} per hour: the thresholds are"
            " those without any false accept. Give more recordings without events."
        )
    return notes
