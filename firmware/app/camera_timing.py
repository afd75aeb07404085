"""Choose how fast the rows of a frame arrive, and how many may wait, so that a model can take them without losing one.

A camera delivers its rows in a part of the time of a frame; the rest is vertical blanking, whose length the camera's
registers set. The operators of the streamed first part of a model run when rows arrive, and the others after the last
row, so the best share of rows depends on the model. The costs of rows are estimates; the result has a margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.converters.processing.image.plan import ImagePlan
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.sizes.timing import layer_instructions

#: The factor by which estimates may be too small.
MARGIN = 1.25
#: Instructions of converting a pixel of a source row, and of an element of the input. Assumed.
_PIXEL, _ELEMENT = 20.0, 12.0
#: An application sleeps at most this number of microseconds after a row has arrived.
_SLEEP_US = 1000.0
#: One row arrives while another one is taken.
_MIN_ROOM = 2
#: The shares of a frame's time in which the rows arrive.
_SHARES = tuple(k / 20 for k in range(1, 20))


@dataclass(frozen=True)
class RowTiming:
    """The time from row to row in microseconds, and the number of rows for which there must be room."""

    row_us: int
    room: int


def row_instructions(g: Generated, plan: ImagePlan, core: str, optimise: str) -> list[float]:
    """Return the estimated instructions that follow each source row; those after the last row that the model needs
    include the rest of the inference."""
    estimates = layer_instructions(g, core, optimise)
    by_operator = {g.plan.order[layer.index]: cost for layer, cost in zip(g.calls, estimates, strict=True)}
    input_rows = [0.0] * plan.canvas[1]
    rest = sum(estimates)
    segment = next((s for s in g.plan.segments if s.streamed_input is not None), None)
    if segment is not None and segment.streamed_input is not None:
        arrival = len(segment.stages) + segment.sources.index(segment.streamed_input)
        steps = [segment.schedule.count(stage) for stage in range(len(segment.stages))]
        y = -1
        for entry in segment.schedule:
            if entry == arrival:
                y += 1
            elif entry < len(segment.stages):
                cost = by_operator.get(segment.stages[entry], 0.0) / steps[entry]
                input_rows[max(y, 0)] += cost
                rest -= cost
    costs = [0.0] * plan.height
    last = 0
    for y, cost in enumerate(input_rows):
        last = max(_needed(plan, y) - 1, last)
        costs[last] += cost + _ELEMENT * plan.canvas[0] * plan.channels
    for row in range(last + 1):
        costs[row] += _PIXEL * plan.across.outputs * plan.across.taps
    costs[last] += max(rest, 0.0)
    return costs


def _needed(plan: ImagePlan, y: int) -> int:
    """Return the number of source rows that must have arrived before row ``y`` of the input can be computed."""
    o = y - plan.top
    if not 0 <= o < plan.down.outputs:
        return 0
    return int(plan.window[1] + plan.down.start[o] + plan.down.taps)


def choose_timing(
    row_us_costs: Sequence[float], frame_us: int, hop: int, row_us_range: tuple[int, int] | None = None
) -> RowTiming | None:
    """Return the timing with the smallest room, or None if the model or the camera is too slow.

    Args:
        row_us_costs: the estimated microseconds of work after each source row.
        frame_us: microseconds from frame to frame.
        hop: frames from one that the model takes to the next.
        row_us_range: the least and the most microseconds from row to row that the camera can have.
    """
    height = len(row_us_costs)
    best: RowTiming | None = None
    for share in _SHARES:
        row_us = int(frame_us * share / height)
        if row_us_range is not None:
            row_us = min(row_us, row_us_range[1])
            if row_us < row_us_range[0]:
                continue
        room = _room(row_us_costs, row_us, frame_us, hop) if row_us else None
        if room is not None and (best is None or room <= best.room):
            best = RowTiming(row_us, room)
    return best


def _room(costs: Sequence[float], row_us: int, frame_us: int, hop: int) -> int | None:
    """Return the number of rows for which there must be room, or None if rows wait longer from hop to hop."""
    height, free, behind = len(costs), 0.0, []
    arrivals, begins = [], []
    for frame in range(2 * hop + 1):
        for row in range(height):
            at = float(frame * frame_us + (row + 1) * row_us)
            begin = max(free, at + _SLEEP_US if free <= at else at)
            free = begin + (MARGIN * costs[row] if frame % hop == 0 else 1.0)
            arrivals.append(at)
            begins.append(free)  # the row's memory is free when its work is done
        behind.append(free - at)
    if behind[2 * hop] > behind[hop] + 1 or behind[hop] > behind[0] + 1:
        return None
    room, done = 1, 0
    for k, at in enumerate(arrivals):
        while begins[done] <= at:
            done += 1
        room = max(room, k - done + 1)
    return max(room, _MIN_ROOM)
