"""Generate an application in which a small model wakes a large one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.app.cascade_glue import CascadeGlue
from arenite.firmware.app.forms.choice import chosen_form
from arenite.firmware.app.project import write_app
from arenite.firmware.app.settings import StreamSettings, room_for
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
    inference_seconds,
    longer_hop,
    sensor_driver,
    write_with_stack,
)
from arenite.host.app.learning import event_scores
from arenite.host.app.memory_check import check_memory
from arenite.host.app.overload import Choices, overload_warnings
from arenite.host.app.sensor_limits import check_sensor
from arenite.host.app.sensor_stream import MICROPHONE, STREAM_SENSORS, sensor_stream
from arenite.host.build.attachments import recorded_labels
from arenite.host.build.library import identifier, lower_models
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board


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
    bound = [
        bind_processing(g, prepared.extra, recorded_labels(prepared.extra))
        for g, prepared in zip(lowered, models.values(), strict=True)
    ]
    streams = (sensor_stream(small, bound[0], sensor), sensor_stream(large, bound[1], sensor))
    plan = plan_cascade(small, large, streams, hang_ms)
    first, second = streams
    assert bound[0] is not None and bound[1] is not None
    assert first.decision is not None and second.decision is not None
    seconds = [inference_seconds(g, board, optimise) for g in lowered]
    _check_time(models, seconds, board, first.hop, first.rate, math.lcm(first.step, second.step))
    rate, inference_s = first.rate, sum(seconds)
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
    pairs = [(g, p) for g, p in zip(lowered, bound, strict=True) if p is not None]
    headroom = predict_cascade(pairs, plan, settings, board, optimise, scores.names)
    choices = Choices(board, optimise, first.hop, first.step, first.hop, (), ())
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
        warnings=overload_warnings(headroom, choices, lambda *_: None),
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


def _check_time(
    models: dict[str, Prepared], seconds: list[float], board: Board, hop: int, rate: int, step: int
) -> None:
    """Raise ``UsageError`` if both inferences take longer than a hop of the small model."""
    total, hop_s = sum(seconds), hop / rate
    if total < hop_s:
        return
    parts = " and ".join(
        f"{p.path.name} {s * 1000:,.0f} ms" for p, s in zip(models.values(), seconds, strict=True)
    )
    raise UsageError(
        f"The inferences of one hop on {board.name} take an estimated {total * 1000:,.0f} ms ({parts}), but the "
        f"decision of the small model wants one every {hop_s * 1000:,.0f} ms.",
        f"Set hop in [decision] of both models to {longer_hop(total * rate, step)} or more, or choose a faster board.",
    )
