"""What the conversion of a camera's rows does for each frame, from the numbers of its plan: how often each of its
functions and their loops run."""

from __future__ import annotations

from collections.abc import Mapping

from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.native.structs import FLAVOURS, kernels

#: The work of each function, by its name.
PictureWork = Mapping[str, Mapping[str, float]]


def picture_work(plan: ImagePlan) -> PictureWork:
    """Return the work of each function for a frame. A function that has several loops has several names."""
    row, column, finish = kernels(plan)
    _, _, waiting, _ = FLAVOURS[plan.flavour]
    outputs, taps, values = plan.across.outputs, plan.across.taps, plan.across.outputs * plan.working_channels
    is_direct = plan.down.taps == 1 and waiting == 1  # an output row is a source row
    rows = float(_source_rows(plan))
    is_copied = taps == 1 and waiting == 1 and plan.format != "grey"
    work: dict[str, Mapping[str, float]] = {
        f"{row}, {plan.working_channels} {'copied' if is_copied else 'summed'}": {
            "row": rows,
            "output": rows * outputs,
            "tap": rows * outputs * taps * (not is_copied),
        }
    }
    if not is_direct:
        lines = float(plan.down.outputs)
        work[column] = {"line": lines, "value": lines * values, "tap": lines * values * plan.down.taps}
    width, height = plan.canvas
    is_plain = plan.working_channels == plan.channels and not plan.late_grey and _tables(plan) == 1
    kind = "one table" if is_plain else f"{plan.working_channels} to {plan.channels}"
    work[f"{finish}, {kind}"] = {"line": height, "value": width * height * plan.channels}
    return work


def _tables(plan: ImagePlan) -> int:
    return 1 if plan.table is None else len(plan.table)


def _source_rows(plan: ImagePlan) -> int:
    """Return the number of source rows that are read."""
    needed: set[int] = set()
    for start in plan.down.start[: plan.down.outputs]:
        needed |= set(range(int(start), int(start) + plan.down.taps))
    return len(needed)
