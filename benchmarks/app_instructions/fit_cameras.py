"""Fit the costs of a camera's rows: of the loop, and of each function that converts pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arenite.firmware.sizes.instructions import Costs, total
from arenite.firmware.sizes.picture_work import picture_work
from arenite.host.app.camera.frame_headroom import frame_work, scores_work
from benchmarks.app_instructions.fit import PER_MILLISECOND, PER_SECOND
from benchmarks.app_instructions.measure_cameras import CameraStages
from benchmarks.estimates.non_negative import non_negative

#: The function of the work that belongs to none.
_LOOP = ""
#: Applications in which a function must have been measured.
_MIN_APPLICATIONS = 2


def _row(stages: CameraStages, decision: Costs, line: Costs) -> tuple[dict[tuple[str, str], float], float]:
    """Return the work of an application by function, and its instructions besides the inference, the decision and the
    line of scores."""
    settings, plan = stages.application.settings, stages.application.pictures.plan
    period = settings.hop * settings.frame_us / 1e6 * PER_SECOND
    work = {(_LOOP, name): n for name, n in frame_work(settings, plan).items()}
    work[_LOOP, "sleep"] = (period - stages.busy) / PER_MILLISECOND
    for function, counts in picture_work(plan).items():
        work |= {(function, name): n for name, n in counts.items()}
    known = total(decision, {"call": 1.0, "class": float(settings.classes)})
    known += total(line, scores_work(stages.scores))
    return work, stages.busy - stages.inference - known


def fit_cameras(measured: Sequence[CameraStages], decision: Costs, line: Costs) -> dict[str, Any]:
    """Return the costs of the loop and of each function, with the smallest relative errors. ``decision`` and ``line``
    are those of a decision and of a line of text."""
    rows = [_row(stages, decision, line) for stages in measured]
    keys = sorted({key for work, _ in rows for key, n in work.items() if n})
    a = np.array([[work.get(key, 0.0) / count for key in keys] for work, count in rows])
    costs = dict(zip(keys, non_negative(a, np.ones(len(rows))), strict=True))
    counts = Counter(function for work, _ in rows for function in {f for f, _ in work})
    functions: dict[str, dict[str, float]] = {f: {} for f, n in counts.items() if n >= _MIN_APPLICATIONS}
    for (function, name), cost in costs.items():
        if cost > 0 and function in functions:
            functions[function][name] = float(f"{cost:.6g}")
    return {"frames": functions.pop(_LOOP), "pictures": dict(sorted(functions.items()))}


def camera_errors(measured: Sequence[CameraStages], table: Mapping[str, Any]) -> list[float]:
    """Return the relative error of the instructions without the inference of each application that can be
    predicted."""
    errors = []
    for stages in measured:
        work, count = _row(stages, table["decision"], table["line"])
        costs = {_LOOP: table["frames"], **table["pictures"]}
        if all(function in costs for function, _ in work):
            fitted = sum(costs[function].get(name, 0.0) * n for (function, name), n in work.items())
            errors.append(fitted / count - 1)
    return errors
