"""Create the source of a camera session from its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arenite.errors import UsageError
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.server_setup import ModelServers
from arenite.host.camera.sources.base import Source
from arenite.host.camera.sources.factory import open_source


def make_source(
    camera_options: CameraOptions, servers: ModelServers, on_message: Callable[[str], None]
) -> Source:
    """Return the source of a session, which is not open yet: one camera or recording, or a group of cameras.

    ``on_message`` is called with lines of text about a camera that disappears or comes back. Raises ``UsageError`` for
    a source that does not exist, and for options that do not work with several sources.
    """
    options = camera_options.source
    single = len(options.sources) == 1
    if not single and options.pace == "file":
        raise UsageError(
            "Frames of several sources are combined by the time of their capture, so they cannot be read at the "
            "pace of a file.",
            "Leave out --pace file.",
        )
    sees_part = camera_options.model.window is not None or servers.crops
    # Several recordings that are read as fast as possible would drift apart.
    pace = options.pace if single else "live"
    cameras = [
        open_source(
            spec,
            width=options.width,
            height=options.height,
            fps=options.fps,
            pixels=options.pixels,
            pace=pace,
            loop=options.loop,
            index=index,
            min_size=None if sees_part else sufficient_size(servers.models),
            # A camera needs two buffers more than frames are held at the same time. A single camera has two frames in
            # progress. In a set, two frames wait, one may be repeated, and one is served. The dashboard holds one more,
            # and so does the shadow run of an update.
            buffers=(4 if single else 6)
            + (camera_options.outputs.dashboard is not None)
            + (camera_options.updates.repository is not None),
            on_message=on_message,
        )
        for index, spec in enumerate(options.sources)
    ]
    if single:
        return cameras[0]
    from arenite.host.camera.several.camera_group import CameraGroup

    group = CameraGroup(cameras, options.jitter_ms / 1e3, options.timeout_ms / 1e3)
    servers.parts["cameras"] = group.to_json
    return group


def sufficient_size(models: Sequence[CameraModel]) -> tuple[int, int] | None:
    """Return the width and height in pixels that suffice for the inputs of all models; None if a model crops the frame.

    The decoder of JPEG pictures may scale them down to this size.
    """
    from arenite.host.camera.model.tensor_heuristics import sides

    if any(step.do == "crop" for model in models for step in model.preprocessing.steps):
        return None
    sizes = [sides(model.inputs[0]) for model in models]
    return max(width for _, width, _ in sizes), max(height for height, _, _ in sizes)
