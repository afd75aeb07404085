"""``arenite app --sensor camera``: play pictures to the application, and print the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.host.app.camera.generate import CameraApp
from arenite.host.app.camera.play import FramePlayback, play_frames
from arenite.host.app.measured_time import time_lines
from arenite.host.cli.firmware.app_lines import show_driver, show_next
from arenite.host.cli.progress import steps_of
from arenite.host.report.console import note, print_json, show


def finish_camera(application: CameraApp, frames: Sequence[np.ndarray], as_json: bool) -> int:
    """Play the frames, if there are any, and print the result. Return the exit code: 1 if a score or an
    event differs from that of this computer, or a frame was not answered."""
    playback = _play(application, frames, as_json) if frames else None
    if as_json:
        print_json({**application.to_json(), "playback": None if playback is None else playback.to_json()})
    else:
        _show(application, playback)
    return int(playback is not None and not (playback.is_equal and playback.is_complete))


def _play(application: CameraApp, frames: Sequence[np.ndarray], as_json: bool) -> FramePlayback:
    total = -(-len(frames) // application.settings.hop)
    with steps_of(application.board.name) as steps:
        return play_frames(
            application,
            frames,
            on_line=(lambda _: None) if as_json else show,
            on_frame=lambda done: steps("run", done, total),
        )


def _show(application: CameraApp, playback: FramePlayback | None) -> None:
    settings, plan = application.settings, application.pictures.plan
    estimate = ""
    if application.headroom is None:
        estimate = f", which takes an estimated {application.inference_s * 1000:,.0f} ms"
    show(
        f"{application.directory}: {settings.rate} frames per second of {plan.width}x{plan.height} pixels "
        f"({plan.format}), an inference every {1000 * settings.hop / settings.rate:,.0f} ms{estimate} on "
        f"{application.board.name}"
    )
    for line in time_lines(application.headroom, None if playback is None else playback.measured, "frame"):
        show(line)
    if application.driver is not None and application.driver.holds_frame:
        note(f"The framework of this board holds a frame of {application.held_bytes:,} bytes.")
    elif application.held_bytes:
        note(
            f"This model cannot take its input row by row: its whole input of {application.held_bytes:,} bytes is in "
            "memory."
        )
    if application.driver is not None:
        show_driver(application.driver, application.directory)
    if playback is None:
        show_next(application.board, application.project, application.directory, application.sensor)
        return
    same = sum(a == b for a, b in zip(playback.events, playback.expected, strict=False))
    most = max(len(playback.events), len(playback.expected))
    show(
        f"{playback.answered} of {playback.frames} frames were answered; the scores of {playback.equal} and {same} of "
        f"{most} events are those of this computer for whole frames"
    )
