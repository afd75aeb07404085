"""Predict the instructions of a cascade: of windows in which the large model runs, and of those in which it sleeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arenite.converters.processing.imu.plan import ImuPlan
from arenite.firmware.app.settings import StreamSettings
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.library.processing import Processing
from arenite.firmware.sizes.front_end_work import row_work
from arenite.firmware.sizes.instructions import CostTable, Count, cost_table, total
from arenite.firmware.sizes.targets import target_of
from arenite.host.app.cascade.plan import CascadePlan
from arenite.host.app.headroom import (
    Headroom,
    ModelWork,
    block_feeds,
    event_lines,
    loop_instructions,
    model_work,
    schedule_of,
)
from arenite.host.app.loop_schedule import Schedule, window_counts
from arenite.profiles.board import Board

#: Windows whose schedule is computed.
_WINDOWS = 16


def predict_cascade(
    models: Sequence[tuple[Generated, Processing]],
    plan: CascadePlan,
    settings: StreamSettings,
    board: Board,
    optimise: str,
    names: Sequence[str],
) -> Headroom | None:
    """Return the prediction of a cascade whose large model is always awake, with ``asleep`` for windows in which it
    sleeps. None if the costs of a part were not measured.

    ``models`` are the small and the large one. ``names`` are those of the classes of the large one.
    """
    core = target_of(board).core
    table = cost_table(core, optimise)
    if table is None:
        return None
    schedule = schedule_of(settings, board)
    longer = replace(schedule, hop=schedule.hop * plan.every)
    (g, processing), (large_g, large_processing) = models
    small = model_work(g, processing, schedule, table, core, optimise)
    large = model_work(large_g, large_processing, longer, table, core, optimise)
    decision = large_processing.decision
    if small is None or large is None or decision is None:
        return None
    share, extra = 1 / plan.every, large.features
    if plan.is_shared:
        extra = Count(0.0, 0.0)
    awake = large.inference + large.decision
    copied = _copy(processing, table) if plan.is_shared else 0.0
    # The rows of the large model are computed as samples arrive, but its input is filled at the end of its window.
    filled = 0.0 if plan.is_shared else (1 - share) * _copy(large_processing, table)
    both = ModelWork(
        Count(small.features.usual + share * extra.usual, small.features.most + share * extra.most + filled),
        Count(
            small.inference.usual + share * (large.inference.usual + copied),
            small.inference.most + large.inference.most + copied,
        ),
        Count(small.decision.usual + share * large.decision.usual, small.decision.most + large.decision.most),
        tuple(sorted({*small.unmeasured, *large.unmeasured})),
    )
    loops = loop_instructions(both, processing, settings, schedule, table)
    if not plan.is_shared:
        calls = _second_feeds(both, large_processing, schedule, table)
        loops = [count + calls for count in loops]
    loop = sum(loops) / len(loops)
    mean = both.features.usual + both.inference.usual + both.decision.usual + loop
    return Headroom(
        features=both.features,
        inference=both.inference,
        decision=both.decision,
        loop=loop,
        loop_most=max(loops),
        lines=event_lines(table, settings, names, decision.exclusive),
        hop_s=settings.hop / settings.rate,
        second=schedule.second,
        kind="predicted" if board.emulated else "estimated",
        unmeasured=both.unmeasured,
        apart=0.0 if plan.every == 1 else large.inference.most + large.decision.most + copied + filled,
        asleep=mean - share * (awake.usual + copied),
    )


def _second_feeds(work: ModelWork, processing: Processing, schedule: Schedule, table: CostTable) -> float:
    """Return the instructions of the calls that feed the large model, besides those of whole blocks."""
    before = processing.before
    kind = row_work(before, 1, 1)[0]  # type: ignore[arg-type]
    busy = work.inference.usual + work.decision.usual
    counts = window_counts(schedule, table.loop, work.features.usual / schedule.hop, busy, _WINDOWS)
    feeds = sum(c.get("feed", 0.0) for c in counts) / len(counts)
    return max(feeds - block_feeds(schedule), 0.0) * table.front_ends[kind].get("feed", 0.0)


def _copy(processing: Processing, table: CostTable) -> float:
    """Return the instructions of copying a window of the small model's features to the input of the large one."""
    before = processing.before
    if before is None or isinstance(before, ImuPlan):
        return 0.0
    kind, work = row_work(before, 1, 1)  # type: ignore[arg-type]
    return total(table.front_ends[kind], {k: n for k, n in work.items() if k.startswith(("fill", "window"))})
