"""Read and write the records ``decision`` and ``gate`` of a model image: how scores become events, and when the model
runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.converters.processing.specification.preprocessing import read_record
from arenite.converters.processing.specification.record_fields import (
    build_record,
    check_one_of,
    check_within,
    record_of,
)
from arenite.errors import UsageError

SCHEMA, GATE_SCHEMA = "arenite.decision/1", "arenite.gate/1"
#: The keys of the records in ``extra`` of a model image.
KEY, GATE_KEY = "decision", "gate"
SMOOTHINGS = ("none", "mean", "exponential")
#: Limits that decision.h states or that keep sums within 32 bits.
MAX_HOPS, MAX_MINIMUM, MAX_SAMPLES = 1024, 32767, 2**32 - 1
MAX_BLOCK, MAX_CHANNELS, MAX_HANG = 16384, 16, 65534

_HINT = "See docs/events.md for the fields of a decision."


@dataclass(frozen=True)
class ClassThresholds:
    """The thresholds of one class, a label of the model or a number. None stands for the value of the decision."""

    name: str
    threshold: float | None = None
    release: float | None = None


@dataclass(frozen=True)
class Decision:
    """How the scores of a model become events.

    The scores of output ``output`` are smoothed: with ``mean`` over ``hops`` inferences, or with ``exponential``, where
    the newest score has the weight ``factor``. An event of a class starts when its smoothed score has reached
    ``threshold`` in ``minimum`` consecutive hops, and ends when the score is below ``release`` (default: the
    threshold). With ``logits``, thresholds are probabilities and the output is the value before the sigmoid.

    After the start of an event no other starts for ``refractory_ms`` milliseconds or ``refractory_hops`` hops. With
    ``exclusive``, only one class has an event at a time, and a refractory time applies to all classes; of several
    classes, the one with the highest smoothed score starts. Classes in ``ignore`` never have events.

    ``hop`` is the number of samples from one inference to the next, and ``rate`` the number of samples per second (0:
    that of the preprocessing). Without a rate, times are counted in hops.

    In a cascade, the next model still runs for ``hang_ms`` milliseconds or ``hang_hops`` hops after an event of this
    one; None stands for a time that the next model determines.
    """

    threshold: float
    release: float | None = None
    output: int = 0
    smooth: str = "none"
    hops: int = 1
    factor: float = 1.0
    logits: bool = False
    minimum: int = 1
    refractory_ms: float = 0.0
    refractory_hops: int = 0
    exclusive: bool = True
    ignore: tuple[str, ...] = ()
    hop: int = 1
    rate: int = 0
    hang_ms: float | None = None
    hang_hops: int | None = None
    classes: tuple[ClassThresholds, ...] = ()

    def __post_init__(self) -> None:
        check_one_of(self.smooth, SMOOTHINGS, "Decision: smooth")
        check_within(self.output, 0, 255, "Decision: output")
        check_within(self.hops, 1, MAX_HOPS, "Decision: hops")
        check_within(self.factor, 1 / 32768, 1.0, "Decision: factor")
        check_within(self.minimum, 1, MAX_MINIMUM, "Decision: minimum")
        check_within(self.refractory_ms, 0, 1e9, "Decision: refractory_ms")
        check_within(self.refractory_hops, 0, MAX_SAMPLES, "Decision: refractory_hops")
        check_within(self.hop, 1, 2**31 - 1, "Decision: hop")
        check_within(self.rate, 0, 10**9, "Decision: rate")
        self._check_hang()
        if self.smooth != "mean" and self.hops != 1:
            raise UsageError(
                f"Decision: hops is {self.hops}, but smooth is '{self.smooth}', which averages no hops.",
                'Set smooth = "mean", or remove hops.',
            )
        if self.smooth != "exponential" and self.factor != 1.0:
            raise UsageError(
                f"Decision: factor is {self.factor:g}, but smooth is '{self.smooth}', which has no factor.",
                'Set smooth = "exponential", or remove factor.',
            )
        if self.refractory_ms and self.refractory_hops:
            raise UsageError(
                "Decision: refractory_ms and refractory_hops are both set.", "Remove one of the two."
            )
        names = [entry.name for entry in self.classes]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"Decision: class '{name}' is listed twice.", "Remove one of the entries.")
            self._check_thresholds(*self.thresholds(name), f"Decision, class '{name}'")
        self._check_thresholds(*self.thresholds(), "Decision")

    def _check_hang(self) -> None:
        if self.hang_ms is not None:
            check_within(self.hang_ms, 0, 1e9, "Decision: hang_ms")
        if self.hang_hops is not None:
            check_within(self.hang_hops, 0, MAX_HANG, "Decision: hang_hops")
        if self.hang_ms is not None and self.hang_hops is not None:
            raise UsageError("Decision: hang_ms and hang_hops are both set.", "Remove one of the two.")

    def thresholds(self, name: str = "") -> tuple[float, float]:
        """Return the threshold and the release of the class ``name``, or those of classes without an own entry."""
        for entry in self.classes:
            if entry.name == name:
                threshold = self.threshold if entry.threshold is None else entry.threshold
                if entry.release is not None:
                    return threshold, entry.release
                release = self.release if entry.threshold is None else None
                return threshold, threshold if release is None else release
        return self.threshold, self.threshold if self.release is None else self.release

    def _check_thresholds(self, threshold: float, release: float, location: str) -> None:
        for name, value in (("threshold", threshold), ("release", release)):
            if self.logits and not 0 < value < 1:
                raise UsageError(
                    f"{location}: {name} is {value:g}, expected a probability between 0 and 1.", _HINT
                )
        if release > threshold:
            raise UsageError(
                f"{location}: release is {release:g}, above the threshold {threshold:g}.",
                "An event that starts at the threshold ends below release: give a smaller number.",
            )

    def to_json(self) -> dict[str, Any]:
        fields = record_of(self) | {"schema": SCHEMA}
        if self.classes:
            fields["classes"] = [record_of(entry) for entry in self.classes]
        return fields

    @staticmethod
    def from_json(record: Any, location: str = "Decision") -> Decision:
        """Read a record that ``to_json`` returned or a user wrote. Raises ``UsageError`` with the name of the wrong
        field."""
        fields = _fields(record, SCHEMA, location)
        entries = fields.pop("classes", [])
        if not isinstance(entries, list):
            raise UsageError(f"{location}, classes: is not a list.", _HINT)
        classes = []
        for k, entry in enumerate(entries):
            place = f"{location}, class {k + 1}"
            table = _fields(entry, SCHEMA, place)
            classes.append(build_record(ClassThresholds, _with_texts(table, "name"), place))
        decision = build_record(Decision, _with_texts(fields, "ignore"), location)
        return Decision(**{**vars(decision), "classes": tuple(classes)})


@dataclass(frozen=True)
class Gate:
    """When the model runs: while the level of the samples is high, and ``hang_ms`` milliseconds or ``hang_blocks``
    blocks longer.

    The level is the standard deviation of a block of ``block`` samples, so a constant offset has no effect. Its unit is
    ``dbfs`` (decibels below a square wave of full scale) or ``counts`` (steps of the samples). ``channels`` values
    per sample, such as the axes of an accelerometer, are measured separately, and their variances are added. The level
    becomes high at ``threshold``, and low below ``release`` (default: the threshold). ``rate`` is the number of
    samples per second (0: that of the preprocessing).
    """

    threshold: float
    block: int
    release: float | None = None
    unit: str = "dbfs"
    channels: int = 1
    hang_ms: float = 0.0
    hang_blocks: int = 0
    rate: int = 0

    def __post_init__(self) -> None:
        check_one_of(self.unit, ("dbfs", "counts"), "Gate: unit")
        check_within(self.block, 2, MAX_BLOCK, "Gate: block")
        check_within(self.channels, 1, MAX_CHANNELS, "Gate: channels")
        check_within(self.hang_ms, 0, 1e9, "Gate: hang_ms")
        check_within(self.hang_blocks, 0, MAX_HANG, "Gate: hang_blocks")
        check_within(self.rate, 0, 10**9, "Gate: rate")
        low, high = (-120.0, 12.0) if self.unit == "dbfs" else (0.0, 131072.0)
        check_within(self.threshold, low, high, "Gate: threshold")
        if self.release is not None:
            check_within(self.release, low, self.threshold, "Gate: release")
        if self.hang_ms and self.hang_blocks:
            raise UsageError("Gate: hang_ms and hang_blocks are both set.", "Remove one of the two.")

    def to_json(self) -> dict[str, Any]:
        return {"schema": GATE_SCHEMA, **record_of(self)}

    @staticmethod
    def from_json(record: Any, location: str = "Gate") -> Gate:
        """Read a record that ``to_json`` returned or a user wrote. Raises ``UsageError`` with the name of the wrong
        field."""
        return build_record(Gate, _fields(record, GATE_SCHEMA, location), location)


def _fields(record: Any, schema: str, location: str) -> dict[str, Any]:
    """Return the fields of ``record`` without its schema. Raises ``UsageError`` if it is no table or has another
    schema."""
    if not isinstance(record, Mapping):
        raise UsageError(f"{location}: is not a table.", _HINT)
    if record.get("schema", schema) != schema:
        raise UsageError(
            f"{location}: has schema {str(record['schema'])[:60]!r}, expected {schema!r}.",
            "It may come from another version of Arenite.",
        )
    return {name: value for name, value in record.items() if name != "schema"}


def _with_texts(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return ``fields`` with class numbers in the field ``name`` as text, and without an empty list there."""

    def text(value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    changed = dict(fields)
    if isinstance(fields.get(name), (list, tuple)):
        changed[name] = [text(item) for item in fields[name]]
        if not changed[name]:
            del changed[name]
    elif name in fields:
        changed[name] = text(fields[name])
    return changed


def load_decision(path: str | Path) -> tuple[Decision | None, Gate | None]:
    """Read a decision and a gate from a TOML or JSON file, which has them under the keys ``decision`` and ``gate``.

    Raises ``UsageError`` if the file cannot be read, has neither, or a record is wrong.
    """
    record = read_record(path)
    decision = Decision.from_json(record[KEY], f"{path}, decision") if KEY in record else None
    gate = Gate.from_json(record[GATE_KEY], f"{path}, gate") if GATE_KEY in record else None
    if decision is None and gate is None:
        raise UsageError(f"{path} has no table [decision] or [gate].", _HINT)
    return decision, gate


def recorded_decision(extra: Mapping[str, Any]) -> Decision | None:
    """Return the decision that an image records, or None. Raises ``UsageError`` if it is damaged."""
    return Decision.from_json(extra[KEY], "The image's decision") if KEY in extra else None


def recorded_gate(extra: Mapping[str, Any]) -> Gate | None:
    """Return the gate that an image records, or None. Raises ``UsageError`` if it is damaged."""
    return Gate.from_json(extra[GATE_KEY], "The image's gate") if GATE_KEY in extra else None
