"""Read the targets for the figures of the table from targets.toml, and check whether the figures meet them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.bench.compare import BaselineRecord, compare, figures_of

PATH = Path(__file__).parent / "targets.toml"


@dataclass(frozen=True)
class Target:
    """A target for one figure of one variant on one board. ``limits`` maps a model (or "*" for all remaining models) to
    the maximum of the value. The value depends on ``kind``: "at_most" is the figure itself, "ratio" is the figure
    divided by the figure of a baseline record, "times" is the figure divided by the figure of another variant."""

    figure: str
    variant: str
    board: str
    kind: str  # "ratio", "at_most" or "times"
    limits: Mapping[str, float]
    core: str | None = None  # the core of the baseline record of a "ratio" target
    engine: str | None = None  # the engine of this record
    other: str = ""  # the variant with which a "times" target compares

    def limit(self, model: str) -> float | None:
        return self.limits.get(model, self.limits.get("*"))


@dataclass(frozen=True)
class Verdict:
    """The comparison of a figure with its target. ``value`` and ``limit`` are both ratios, or both in the figure's
    unit."""

    target: Target
    value: float
    limit: float

    @property
    def met(self) -> bool:
        return self.value <= self.limit

    def to_json(self) -> dict[str, Any]:
        t = self.target
        return {
            "figure": t.figure,
            "kind": t.kind,
            "value": self.value,
            "limit": self.limit,
            "met": self.met,
            "against": t.other or t.engine,
        }


def read_targets(path: Path = PATH) -> tuple[Target, ...]:
    """Return all targets in the file ``path``. Raises ``UsageError`` if the file is malformed."""
    try:
        return tuple(_target(row) for row in tomllib.loads(path.read_text("utf-8"))["target"])
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} has no readable targets: {error}.") from error


def _target(row: Mapping[str, Any]) -> Target:
    common = row["figure"], row["variant"], row["board"]
    if "times" in row:
        return Target(*common, "times", {"*": row["times"]["at_most"]}, other=row["times"]["of"])
    if "at_most" in row:
        return Target(*common, "at_most", row["at_most"])
    return Target(*common, "ratio", row["ratio"], row["against"]["core"], row["against"]["engine"])


def verdict_on(
    target: Target,
    model: str,
    result: Mapping[str, Any],
    records: Sequence[BaselineRecord],
    other: Callable[[str], Mapping[str, Any] | None],
) -> Verdict | None:
    """Return the verdict on the ``arenite.bench/1`` object ``result``. Return None if the target has no limit for the
    model or a figure is missing. ``records`` are baseline records. ``other`` returns the result of another variant for
    the same model and board, or None."""
    limit, figure = target.limit(model), figures_of(result)[target.figure]
    if limit is None or figure is None:
        return None
    if target.kind == "at_most":
        return Verdict(target, figure, limit)
    if target.kind == "times":
        other_result = other(target.other)
        base = figures_of(other_result)[target.figure] if other_result is not None else None
        return Verdict(target, round(figure / base, 3), limit) if base else None
    compared = compare(result, records, target.core, target.engine)
    compared_figure = compared["figures"].get(target.figure) if compared is not None else None
    return (
        Verdict(target, compared_figure["ratio"], limit)
        if compared_figure and compared_figure["ratio"] is not None
        else None
    )
