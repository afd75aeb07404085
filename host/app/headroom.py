"""Predict the instructions of an application, and the share of its time that it has left, before it is built.

The work from one window to the next is known from the image and the settings: the new rows of features, the inference,
the decision, and how often each part of the loop runs. Its costs were measured (``firmware/sizes/instructions.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.imu.plan import ImuPlan
from arenite.firmware.app.learning_glue import NAME_BYTES
from arenite.firmware.app.settings import StreamSettings
from arenite.firmware.boards.cores import cpi_of
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.library.processing import Processing
from arenite.firmware.sizes.instructions import (
    Costs,
    CostTable,
    Count,
    cost_table,
    inference_count,
    row_count,
    total,
)
from arenite.firmware.sizes.learning_work import DETAIL, learning_work, save_work
from arenite.firmware.sizes.targets import target_of
from arenite.host.app.loop_schedule import Schedule, window_counts
from arenite.host.app.sensor_file import block_of
from arenite.profiles.board import Board

#: Windows whose schedule is computed.
_WINDOWS = 16
#: A processor that sleeps wakes this often without an interrupt of the sensor.
WAKE_S = 0.001
#: The longest line is that of the last sample whose index has 32 bits: after 74 hours at 16,000 samples per second.
_LAST_SAMPLE = (1 << 32) - 1


@dataclass(frozen=True)
class EventLines:
    """The lines of events: ``costs`` of printing, samples per second, the bytes of the longest name of a class, whether
    only one class can be active, and the most events of a window. ``detail`` is printed at a start instead of the score
    in percent."""

    costs: Costs
    rate: int
    name_bytes: int
    is_exclusive: bool
    events: int
    detail: str = ""

    def most(self, count: int | None = None, at: int = _LAST_SAMPLE) -> float:
        """Return the instructions of printing ``count`` events at sample ``at``, None for all of a window, each with
        the longest name."""
        lines = [
            total(self.costs, line_work(self.rate, self.name_bytes, is_start, at, self.detail))
            for is_start in (True, False)
        ]
        longest = sorted(lines, reverse=True) if self.is_exclusive else [max(lines)] * self.events
        return sum(longest[: self.events if count is None else count])


@dataclass(frozen=True)
class Headroom:
    """The predicted instructions of an application from one window to the next, without sleep.

    Attributes:
        features: new rows of features, and filling the input.
        inference: the model.
        decision: the decision, and what is learned.
        loop: the loop, the driver of the sensor and the serial port of a usual window without an event.
        loop_most: the same of the window with most. If the application learns, its state is saved in this window.
        lines: the lines of events.
        hop_s: seconds from one window to the next.
        second: instructions that the board executes per second.
        kind: ``predicted`` on an emulated board, whose instructions all take the same time; otherwise ``estimated``.
        unmeasured: kernels whose instructions are only a rough estimate.
        asleep: in a cascade, the instructions of a usual window in which the large model sleeps; otherwise None.
        apart: those instructions of the slowest window that are never spent in a window with lines of events: of a
            large model that runs in every second window or less often, because its lines are printed after it.
    """

    features: Count
    inference: Count
    decision: Count
    loop: float
    loop_most: float
    lines: EventLines
    hop_s: float
    second: float
    kind: str
    unmeasured: tuple[str, ...]
    asleep: float | None = None
    apart: float = 0.0

    @property
    def mean(self) -> float:
        """The instructions of a usual window, without an event."""
        return self.features.usual + self.inference.usual + self.decision.usual + self.loop

    def worst(self, lines: int | None = None, at: int = _LAST_SAMPLE) -> float:
        """Return the instructions of the slowest window, after which ``lines`` events are printed; None: all that a
        window can start or end. ``at`` is the last sample: its number is printed."""
        parts = self.features.most + self.inference.most + self.decision.most + self.loop_most
        return parts - self.apart + max(self.apart, self.lines.most(lines, at))

    @property
    def per_hop(self) -> float:
        """The instructions that the board executes from one window to the next."""
        return self.hop_s * self.second

    @property
    def duty(self) -> float:
        """The mean share of the time that the processor does not sleep."""
        return self.mean / self.per_hop

    def share(self, lines: int | None = None, at: int = _LAST_SAMPLE) -> float:
        """Return the share of its time that the slowest window takes, as in ``worst``."""
        return self.worst(lines, at) / self.per_hop

    @property
    def headroom(self) -> float:
        """The share of its time that the slowest window leaves; below 0, windows are late."""
        return 1 - self.share()

    def to_json(self) -> dict[str, Any]:
        """Return the object ``headroom`` of the schemas ``arenite.fit/1`` and ``arenite.app/1``."""
        return {
            "kind": self.kind,
            "instructions_per_hop": {
                "features": round(self.features.usual),
                "inference": round(self.inference.usual),
                "decision": round(self.decision.usual),
                "loop": round(self.loop),
                "mean": round(self.mean),
                "worst": round(self.worst()),
            },
            "instructions_per_s": round(self.mean / self.hop_s),
            "mean_percent": round(100 * self.duty, 2),
            "worst_percent": round(100 * self.share(), 2),
            "headroom_percent": round(100 * self.headroom, 2),
            **({} if self.asleep is None else {"asleep_percent": round(100 * self.asleep / self.per_hop, 2)}),
            "unmeasured": list(self.unmeasured),
        }


def predict_headroom(
    g: Generated,
    processing: Processing,
    settings: StreamSettings,
    board: Board,
    optimise: str,
    names: tuple[str, ...],
) -> Headroom | None:
    """Return the prediction for an application, or None if a part of it was never measured: a core without measured
    costs, or a build for size.

    ``names`` are those of the classes.
    """
    table = cost_table(target_of(board).core, optimise)
    if table is None:
        return None
    schedule = schedule_of(settings, board)
    work = model_work(g, processing, schedule, table, target_of(board).core, optimise)
    if work is None:
        return None
    loops = loop_instructions(work, processing, settings, schedule, table)
    learned = processing.anomaly
    return Headroom(
        features=work.features,
        inference=work.inference,
        decision=work.decision,
        loop=sum(loops) / len(loops),
        loop_most=max(loops) + (0.0 if learned is None else total(table.learning, save_work(learned))),
        lines=_lines(table, settings, names, processing),
        hop_s=settings.hop / settings.rate,
        second=schedule.second,
        kind="predicted" if board.emulated else "estimated",
        unmeasured=work.unmeasured,
    )


def _lines(
    table: CostTable, settings: StreamSettings, names: Sequence[str], processing: Processing
) -> EventLines:
    """Return the lines of the events of an application's decision, and of what it learns."""
    decision, learned = processing.decision, processing.anomaly
    if learned is None:
        return event_lines(table, settings, names, decision is not None and decision.exclusive)
    lines = event_lines(table, settings, names, False)
    longest = max(lines.name_bytes, NAME_BYTES if learned.head.classes else 0)  # names that users give
    return replace(lines, name_bytes=longest, detail=DETAIL)


@dataclass(frozen=True)
class ModelWork:
    """The instructions of a model from one window to the next, and the kernels whose costs were not measured."""

    features: Count
    inference: Count
    decision: Count
    unmeasured: tuple[str, ...] = ()


def schedule_of(settings: StreamSettings, board: Board) -> Schedule:
    """Return the samples of an application on ``board``."""
    second = instructions_per_second(board)
    record = block_of(settings.rate, settings.channels)
    return Schedule(
        settings.rate, settings.channels, settings.window, settings.hop, record, second * WAKE_S, second
    )


def model_work(
    g: Generated, processing: Processing, schedule: Schedule, table: CostTable, core: str, optimise: str
) -> ModelWork | None:
    """Return the work of a model whose windows are ``schedule.hop`` samples apart; None if its front end was not
    measured, or the image records none."""
    before, decision, hop = processing.before, processing.decision, schedule.hop
    if not isinstance(before, (AudioPlan, MicroPlan, ImuPlan)):
        return None
    if isinstance(before, ImuPlan):
        before = replace(before, hop=hop)  # that of the source is for other uses of the image
    inference, unmeasured = inference_count(g, table, core, optimise)
    rows = 1 if isinstance(before, ImuPlan) else hop // before.step
    features = row_count(before, table, rows, block_feeds(schedule))
    if features is None:
        return None
    decided = 0.0
    if decision is not None:
        decided += total(table.decision, {"call": 1.0, "class": float(decision.classes)})
    if processing.anomaly is not None:
        if not table.learning:
            return None
        decided += total(table.learning, learning_work(processing.anomaly))
    return ModelWork(features, inference, Count(decided, decided), unmeasured)


def block_feeds(schedule: Schedule) -> float:
    """Return the calls that feed a model with whole blocks of samples, as in the measurement; the loop has the cost of
    the others. The end of a window divides a block unless it is the block's end."""
    hop, block = schedule.hop, schedule.block
    return hop / block + 1 - math.gcd(hop, block) / block


def loop_instructions(
    work: ModelWork, processing: Processing, settings: StreamSettings, schedule: Schedule, table: CostTable
) -> list[float]:
    """Return the instructions of the loop and of the gate that ``processing`` has, for each of several windows with
    ``work``; for one window if the board cannot keep up."""
    counts = window_counts(
        schedule,
        table.loop,
        work.features.usual / schedule.hop,
        work.inference.usual + work.decision.usual,
        _WINDOWS,
    )
    loops = [
        total(table.loop, c)
        + _gate(processing, settings, table, c)
        + (_saves(table, c) if processing.anomaly is not None else 0.0)
        for c in counts
    ]
    busy = work.features + work.inference + work.decision
    return loops[:1] if busy.usual >= schedule.hop / schedule.rate * schedule.second else loops


def event_lines(
    table: CostTable, settings: StreamSettings, names: Sequence[str], is_exclusive: bool
) -> EventLines:
    """Return the lines of the events of an application. ``names`` are those of the classes."""
    longest = max((len(name.encode()) for name in names), default=0)
    return EventLines(table.line, settings.rate, longest, is_exclusive, settings.events)


def instructions_per_second(board: Board) -> float:
    """Return the instructions of a second. On an emulated board, each takes the same time."""
    emulator = board.emulator
    if emulator is not None:
        return board.clock_hz * emulator.ticks_denominator / emulator.ticks_numerator
    return board.clock_hz / cpi_of(board.core)


def _saves(table: CostTable, counts: dict[str, float]) -> float:
    """Return the instructions of asking whether the state must be saved, in each turn of the loop of a window."""
    turns = sum(counts.get(name, 0.0) for name in ("sleep", "read", "feed"))
    return table.learning.get("serve", 0.0) * turns


def _gate(
    processing: Processing, settings: StreamSettings, table: CostTable, counts: dict[str, float]
) -> float:
    """Return the instructions of a gate that measures the samples of a window."""
    gate = processing.gate
    if gate is None:
        return 0.0
    kind = "motion" if isinstance(processing.before, ImuPlan) else "micro"
    work = {
        "gate feed": counts.get("feed", 0.0),
        "gate sample": float(settings.hop),
        "gate value": float(settings.hop * settings.channels),
        "gate block": settings.hop / gate.block,
    }
    return total(table.front_ends[kind], work)


def line_work(
    rate: int, name_bytes: int, is_start: bool, at: int = _LAST_SAMPLE, detail: str = ""
) -> dict[str, float]:
    """Return the work of printing an event at sample ``at``, with a class whose name has ``name_bytes`` bytes. At a
    start a score in percent follows, or ``detail``."""
    milliseconds = at * 1000 // rate
    digits = len(str(at)) + max(len(str(milliseconds)), 4)
    if is_start:
        name_bytes += sum(not c.isdigit() for c in detail)
        digits += sum(c.isdigit() for c in detail) if detail else 2
    # A division of more than 32 bits takes a step for each bit.
    slow = int(at * 1000 >= 1 << 32)
    for value in (at, milliseconds):
        while value >= 1 << 32:
            slow, value = slow + 1, value // 10
    fixed = len("[.] s  % (sample )" if is_start else "[.] s  ended (sample )")
    return {
        "line": 1.0,
        "start": float(is_start),
        "character": float(fixed + name_bytes + digits),
        "digit": float(digits),
        "slow division": float(slow),
    }
