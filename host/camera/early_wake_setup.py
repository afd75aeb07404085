"""Create the early wake-up of a camera session from its options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.serving.frame_server import FrameServer
from arenite.host.camera.sources.base import Source

if TYPE_CHECKING:
    from arenite.host.camera.serving.early_wake import EarlyWake


def make_early_wake(
    options: CameraOptions, source: Source, server: FrameServer, models: list[CameraModel], overlap: bool
) -> tuple[EarlyWake | None, list[str]]:
    """Return (the early wake-up, or None if the run does not use it; notes for display).

    ``overlap`` says whether the next frame is prepared while the model runs. Raises ``UsageError`` if ``--warm-model``
    does not work with the model or with another option.
    """
    loop = options.loop
    if not (loop.early_wake_ms or loop.warm_model):
        return None, []
    given = " and ".join(["--early-wake"] * bool(loop.early_wake_ms) + ["--warm-model"] * loop.warm_model)
    staged = server.staged
    if loop.warm_model:
        if loop.motion or loop.cache:
            saver = "--motion" if loop.motion else "--cache"
            raise UsageError(
                f"--warm-model runs the model before every frame, and {saver} avoids running it.",
                "Use --early-wake without --warm-model.",
            )
        if staged is None:
            raise UsageError("--warm-model works with one model or with --ladder.", "Leave out --warm-model.")
        from arenite.host.camera.model.model_state import keeps_state

        stateful = next((model for model in models if keeps_state(model.path)), None)
        if stateful is not None:
            raise UsageError(
                f"The model {stateful.name} keeps state between frames, so --warm-model would change its answers.",
                "Use --early-wake without --warm-model.",
            )
    if not source.live:
        return None, [
            f"{given} has no effect: the loop never waits for a frame of a recording. Try --pace live."
        ]
    if overlap:
        return None, [f"{given} has no effect, because frames overlap: the model runs most of the time."]
    from arenite.host.camera.serving.early_wake import EarlyWake

    # With --warm-model alone, ``early_wake_ms`` is 0: the model runs early, and then the thread sleeps until the frame
    # arrives.
    warm = staged.warm if loop.warm_model and staged is not None else None
    return EarlyWake(source, loop.early_wake_ms / 1e3, warm), []
