"""Group the runs of the store into series: runs of the same model, board and mode over time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.bench.store.changes import FIGURES, Change, RegressionRules, changes
from arenite.host.bench.store.run_rows import FIGURE_PATHS, StoredRun, value_at, wrong_figure
from arenite.host.bench.store.store import Store
from arenite.input_files import parse_json, read_text

PREVIOUS, BEST = "previous", "best"


@dataclass(frozen=True)
class SeriesPoint:
    """One run of a series, and the changes of its figures since earlier runs."""

    run: StoredRun
    changes: tuple[Change, ...]

    @property
    def regressions(self) -> tuple[Change, ...]:
        return tuple(c for c in self.changes if c.rule is not None)


@dataclass(frozen=True)
class RunSeries:
    """Runs of the same model, board and mode, sorted by time. There is at least one."""

    model: str
    board: str
    mode: str
    points: tuple[SeriesPoint, ...]


def series_of(
    runs: Sequence[StoredRun], rules: RegressionRules, *, last: int | None = None, against: str = PREVIOUS
) -> list[RunSeries]:
    """Group ``runs`` into series, and keep the latest ``last`` runs of each series (None: all runs).

    ``against`` is ``PREVIOUS`` to compare each figure with the run before, or ``BEST`` to compare it with the best of
    all earlier runs that are shown. ``BEST`` also finds a regression that happened in small steps.
    """
    groups: dict[tuple[str, str, str], list[StoredRun]] = {}
    for run in runs:
        groups.setdefault(run.series, []).append(run)
    series = []
    sorted_groups = sorted(groups.items(), key=lambda item: (*item[0][:2], len(item[0][2]), item[0][2]))
    for (model, board, mode), members in sorted_groups:
        recent = members[-last:] if last else members
        # The first run that is shown is compared with the run before it.
        start = len(members) - len(recent)
        points = []
        for k, run in enumerate(recent):
            earlier = members[: start + k]
            if against == BEST:
                earlier = members[start : start + k]
            run_changes = (
                changes(earlier, run, rules)
                if against == PREVIOUS
                else _changes_since_best(earlier, run, rules)
            )
            points.append(SeriesPoint(run, tuple(run_changes)))
        series.append(RunSeries(model, board, mode, tuple(points)))
    return series


def _changes_since_best(earlier: Sequence[StoredRun], new: StoredRun, rules: RegressionRules) -> list[Change]:
    """Compare each figure of ``new`` with its best value in ``earlier``: the highest accuracy, or the lowest value of
    any other figure."""
    best: dict[str, Change] = {}
    for old in earlier:
        for difference in changes([old], new, rules):
            best_so_far = best.get(difference.figure)
            better = best_so_far is None or (
                difference.old > best_so_far.old
                if difference.figure == "accuracy"
                else difference.old < best_so_far.old
            )
            if better:
                best[difference.figure] = difference
    return [best[name] for name in FIGURES if name in best]


def history_json(store: Path, series: Sequence[RunSeries], rules: RegressionRules) -> dict[str, Any]:
    """Return the ``arenite.history/1`` object. Its ``regressions`` is the number of regressions in the latest runs of
    all series."""
    return {
        "schema": "arenite.history/1",
        "store": str(store),
        "rules": rules.to_json(),
        "regressions": sum(len(s.points[-1].regressions) for s in series),
        "series": [
            {
                "model": s.model,
                "board": s.board,
                "mode": json.loads(s.mode),
                "runs": [
                    {
                        "run": p.run.id,
                        "time": p.run.time,
                        "data": p.run.data,
                        **{k: v for k, v in p.run.figures.items() if k != "cell"},
                        "regressions": [c.to_json() for c in p.regressions],
                    }
                    for p in s.points
                ],
            }
            for s in series
        ],
    }


def named_run(argument: str, store: Path) -> StoredRun:
    """Return the run that ``argument`` names: a run's number, ``last``, ``last~N`` (N runs before the last run), or the
    path of a file that ``arenite bench --json`` wrote.

    Raises ``UsageError`` when there is no such run.
    """
    if argument.isdigit() or argument.split("~")[0] == "last":
        with Store(store, create=False) as opened:
            if argument.isdigit():
                return opened.run(int(argument))
            steps_back = argument.partition("~")[2] or "0"
            runs = opened.runs()
            if not steps_back.isdigit() or int(steps_back) >= len(runs):
                raise UsageError(
                    f"{store} has no run {argument}, because it has only {len(runs)} runs.",
                    "Give a smaller number, such as last~1.",
                )
            return runs[-1 - int(steps_back)]
    return _read_run(Path(argument))


def _read_run(path: Path) -> StoredRun:
    """Return the run in a file that ``arenite bench --json`` wrote."""
    hint = (
        "Give the number of a run (`arenite bench history`), last, last~1, or the output of"
        " `arenite bench --json`."
    )
    try:
        result = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"'{path}' is neither a run nor a file with a result.", hint) from error
    if not isinstance(result, dict) or result.get("schema") != "arenite.bench/1":
        raise UsageError(f"{path} does not contain a bench result.", hint)
    figures = {column: value_at(result, place) for column, place in FIGURE_PATHS.items()}
    if problem := wrong_figure(figures):
        raise UsageError(f"{path}: {problem}.", hint)
    model = Path(str(figures["model_path"])).stem
    return StoredRun(0, "", model, str(figures["board"]), "{}", str(path), figures, result)
