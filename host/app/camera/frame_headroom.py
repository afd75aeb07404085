"""Predict the instructions of an application with a camera from inference to inference, before it is built."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.decision.plan import DecisionPlan
from arenite.converters.processing.image.plan import ImagePlan
from arenite.firmware.app.camera_settings import CameraSettings
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.sizes.instructions import CostTable, Count, cost_table, inference_count, total
from arenite.firmware.sizes.picture_work import picture_work
from arenite.firmware.sizes.targets import target_of
from arenite.host.app.headroom import WAKE_S, EventLines, Headroom, instructions_per_second
from arenite.profiles.board import Board

#: A score, and a checksum of scores, as they are usually printed; the most scores of a line.
_SCORE, _SUM, _MAX_SCORES = " -100", "4000000000", 32


def frame_work(settings: CameraSettings, plan: ImagePlan) -> dict[str, float]:
    """Return the work of the loop and the camera from inference to inference, without sleep and conversion. The rows of
    other frames arrive too."""
    taken = int(plan.window[1] + max(s + plan.down.taps for s in plan.down.start))
    return {
        "frame": 1.0,
        "row": float(settings.height * settings.hop),
        "taken row": float(taken),
        "taken word": float(taken * -(-settings.row_bytes // 4)),
        "input row": float(plan.canvas[1]),
    }


def scores_work(lines: Sequence[str]) -> dict[str, float]:
    """Return the mean work of printing one of ``lines``, which have numbers."""
    return {
        "line": 1.0,
        "character": sum(map(len, lines)) / len(lines),
        "digit": sum(c.isdigit() for line in lines for c in line) / len(lines),
    }


def _usual_scores(settings: CameraSettings) -> str:
    """Return the line of scores that a virtual camera makes the application print for each frame."""
    return f"[10.000 s] scores{_SCORE * min(settings.classes, _MAX_SCORES)} sum {_SUM} (frame 10)"


def predict_frames(
    g: Generated,
    plan: ImagePlan,
    decision: DecisionPlan,
    settings: CameraSettings,
    board: Board,
    optimise: str,
    names: Sequence[str],
) -> Headroom | None:
    """Return the prediction for an application with a camera, or None if a part of it was never measured: a core or a
    build, or the conversion of such pictures. ``names`` are those of the classes."""
    core = target_of(board).core
    table = cost_table(core, optimise)
    if table is None or not table.frames:
        return None
    pictures = _picture_instructions(table, plan)
    if pictures is None:
        return None
    inference, unmeasured = inference_count(g, table, core, optimise)
    decided = total(table.decision, {"call": 1.0, "class": float(decision.classes)})
    loop = total(table.frames, frame_work(settings, plan))
    if board.emulated:
        loop += total(table.line, scores_work([_usual_scores(settings)]))
    second, hop_s = instructions_per_second(board), settings.hop * settings.frame_us / 1e6
    busy = pictures + inference.usual + decided + loop
    sleep = table.frames.get("sleep", 0.0)
    loop += sleep * max(hop_s * second - busy, 0.0) / (second * WAKE_S + sleep)
    return Headroom(
        features=Count(pictures, pictures),
        inference=inference,
        decision=Count(decided, decided),
        loop=loop,
        loop_most=loop,
        lines=EventLines(
            table.line,
            settings.rate,
            max((len(name.encode()) for name in names), default=0),
            decision.exclusive,
            settings.events,
        ),
        hop_s=hop_s,
        second=second,
        kind="predicted" if board.emulated else "estimated",
        unmeasured=unmeasured,
    )


def _picture_instructions(table: CostTable, plan: ImagePlan) -> float | None:
    """Return the instructions of converting a picture; None if one of the functions was not measured."""
    work = picture_work(plan)
    if any(name not in table.pictures for name in work):
        return None
    return sum(total(table.pictures[name], counts) for name, counts in work.items())
