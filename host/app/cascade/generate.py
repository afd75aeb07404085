"""Generate an application in which a small model wakes a large one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.app.cascade_glue import CascadeGlue
from arenite.firmware.app.forms.choice import chosen_form
from arenite.firmware.app.project import write_app
from arenite.firmware.app.settings import StreamSettings, room_for
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.target import Target
from arenite.firmware.library.processing import Processing, bind_processing, processing_files
from arenite.firmware.library.processing_writer import source_files
from arenite.firmware.library.sources import library_sources, share_arena
from arenite.firmware.sizes.prediction import predict
from arenite.host.app.busy_time import row_seconds
from arenite.host.app.cascade.headroom import predict_cascade
from arenite.host.app.cascade.plan import plan_cascade
from arenite.host.app.generate import (
    STACK_MARGIN,
    App,
    faster_boards,
    inference_seconds,
    other_goals,
    sensor_driver,
    write_with_stack,
)
from arenite.host.app.headroom import Headroom
from arenite.host.app.learning import event_scores
from arenite.host.app.memory_check import check_memory
from arenite.host.app.overload import Choices, overload_warnings
from arenite.host.app.sensor_limits import check_sensor
from arenite.host.app.sensor_stream import MICROPHONE, STREAM_SENSORS, sensor_stream
from arenite.host.app.slow_inference import SlowInference, hops_of
from arenite.host.build.attachments import recorded_labels
from arenite.host.build.library import identifier, lower_models
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board

#: The records that have the hop.
_WHERE = "[decision] of both models"


def generate_cascade(
    small: Prepared,
    large: Prepared,
    board: Board,
    directory: Path,
    *,
    sensor: str = MICROPHONE,
    project: str | None = None,
    optimise: str = "balanced",
    chip: str | None = None,
    hang_ms: float | None = None,
    accept: Callable[[StreamSettings], None] = lambda _: None,
) -> App:
    """Write the application in which the events of ``small`` wake ``large`` on ``board``.

    ``hang_ms`` is the time in milliseconds for which ``large`` still runs after an event of ``small``, instead of the
    recorded one. The other arguments are those of ``generate_app``.

    Raises ``UsageError`` if the models do not make a cascade, an image does not record features and a decision for the
    sensor, both inferences take longer than a hop, or there is no driver for the board, and ``DoesNotFitError`` if the
    models alone do not fit a real board. Then nothing was written.
    """
    driver = sensor_driver(board, sensor, chip)
    form = chosen_form(board, project)
    models = _named(small, large)
    lowered, shared = share_arena(lower_models(models, Target.for_core(board.core, optimise)))
    bound = _bound(lowered, models)
    streams = (sensor_stream(small, bound[0], sensor), sensor_stream(large, bound[1], sensor))
    plan = plan_cascade(small, large, streams, hang_ms)
    first, second = streams
    assert bound[0] is not None and bound[1] is not None
    assert first.decision is not None and second.decision is not None
    rate, hops = first.rate, hops_of(first, second)
    others = (faster_boards(board, sensor), other_goals(optimise))
    slow = SlowInference(board, optimise, first.hop, rate, hops, _WHERE, *others)
    inference_s = _check_time(models, lowered, slow)
    settings = StreamSettings(
        rate=rate,
        window=plan.window,
        hop=first.hop,
        room=room_for(inference_s * rate, rate, sum(row_seconds(b, board) for b in bound if b) * rate),
        events=max(first.decision.max_events, second.decision.max_events),
        channels=first.channels,
        holds=first.holds,
        sensor=1 + STREAM_SENSORS.index(sensor),
    )
    check_sensor(driver, board, sensor, settings)
    named = dict(zip(models, lowered, strict=True))
    check_memory(named, models, board, optimise, settings.buffer_bytes)
    accept(settings)
    scores = event_scores(large, second.decision, None, recorded_labels(large.extra))
    glue = CascadeGlue(
        lowered[0], lowered[1], plan.hang, plan.every, plan.skip, plan.is_shared, bound[0].gate is not None
    )
    files = library_sources(lowered, shared)
    files |= processing_files(lowered[0], bound[0], copies=plan.is_shared)
    before = None if plan.is_shared else bound[1].before
    files |= processing_files(lowered[1], Processing(before, bound[1].after, second.decision))
    files |= {f"arenite/{name}": text for name, text in source_files(["gate.c"]).items()}
    files |= glue.files(scores)
    names = list(models)
    defines = [f"{name.upper()}_{stream.define}" for name, stream in zip(names, streams, strict=True)]
    entries = [
        {"path": str(prepared.path), "sha256": prepared.sha256, "name": name}
        for name, prepared in models.items()
    ]
    manifest: dict[str, Any] = {
        "model": entries[0],
        "cascade": {**entries[1], "hang_hops": plan.hang},
        "image_sha256": lowered[0].sha256.hex(),
        "sensor": sensor,
        "rate": rate,
    }

    def write(stack_bytes: int) -> None:
        write_app(
            directory,
            " and ".join(names),
            board,
            files,
            settings,
            form=form,
            optimise=optimise,
            stack_bytes=stack_bytes,
            defines=defines[:1] if plan.is_shared else defines,
            manifest=manifest,
            driver=driver,
        )

    stack = max(predict(g, board, optimise).stack for g in lowered) + STACK_MARGIN
    write_with_stack(directory, stack, write)

    def predicted(other: Board, goal: str, hop: int) -> Headroom | None:
        models_in_c, features = lowered, bound
        if (other.name, goal) != (board.name, optimise):
            models_in_c, _ = share_arena(lower_models(models, Target.for_core(other.core, goal)))
            features = _bound(models_in_c, models)
        pairs = [(g, p) for g, p in zip(models_in_c, features, strict=True) if p is not None]
        # Another hop is that of both models.
        timed = plan if hop == first.hop else replace(plan, hop=hop, every=1)
        return predict_cascade(pairs, timed, replace(settings, hop=hop), other, goal, scores.names)

    headroom = predicted(board, optimise, first.hop)
    choices = Choices(board, optimise, first.hop, hops, *others)
    return App(
        directory,
        board,
        small,
        settings,
        inference_s,
        scores,
        sensor,
        image_sha256=lowered[0].sha256,
        project=form,
        driver=driver,
        cascade=plan,
        headroom=headroom,
        warnings=overload_warnings(headroom, choices, predicted, _WHERE),
    )


def _named(small: Prepared, large: Prepared) -> dict[str, Prepared]:
    """Return the models by the names that they have in C. Raises ``UsageError`` if these are equal."""
    first, second = (identifier(prepared.path.stem) for prepared in (small, large))
    if first == second:
        raise UsageError(
            f"Both models of the cascade would have the name '{first}' in C: {small.path} and {large.path}.",
            "Rename one of the files.",
        )
    return {first: small, second: large}


def _bound(lowered: Sequence[Generated], models: Mapping[str, Prepared]) -> list[Processing | None]:
    """Return the recorded features and decisions of the models."""
    return [
        bind_processing(g, prepared.extra, recorded_labels(prepared.extra))
        for g, prepared in zip(lowered, models.values(), strict=True)
    ]


def _check_time(models: dict[str, Prepared], lowered: Sequence[Generated], slow: SlowInference) -> float:
    """Return the estimated seconds of both inferences. Raise ``UsageError`` if they take longer than a hop of the small
    model; ``slow`` says what may be chosen then."""
    board, hop_s = slow.board, slow.hop / slow.rate
    seconds = [inference_seconds(g, board, slow.optimise) for g in lowered]
    if sum(seconds) < hop_s:
        return sum(seconds)

    def needed(other: Board, goal: str) -> float:
        both = lower_models(models, Target.for_core(other.core, goal))
        return sum(inference_seconds(g, other, goal) for g in both)

    parts = " and ".join(
        f"{p.path.name} {s * 1000:,.0f} ms" for p, s in zip(models.values(), seconds, strict=True)
    )
    raise UsageError(
        f"The inferences of one hop on {board.name} take an estimated {sum(seconds) * 1000:,.0f} ms ({parts}), but the "
        f"decision of the small model wants one every {hop_s * 1000:,.0f} ms.",
        slow.hint(needed),
    )
