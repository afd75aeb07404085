"""Translate a driver's error numbers into sentences for the user."""

from __future__ import annotations

import errno

from arenite.errors import UsageError
from arenite.host.camera.sources.base import SourceLost


def lost_error(path: str, error: OSError) -> SourceLost:
    """Return the error for a camera that failed while it was read."""
    reason = {
        errno.ENODEV: "it was unplugged, or its driver was unloaded",
        errno.ENXIO: "it was unplugged",
        errno.ENOENT: "there is no such device",
        errno.EBUSY: "another program uses it",
        errno.ENOSPC: "the USB bus has no bandwidth left for it",
    }.get(error.errno or 0, error.strerror or str(error))
    return SourceLost(
        f"The camera {path} cannot be read: {reason}.",
        "Check the cable, and close other programs that use the camera.",
    )


def open_error(path: str, error: OSError) -> UsageError | SourceLost:
    """Return the error for a camera that could not be opened."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return UsageError(
            f"You do not have permission to open the camera {path}.",
            "Join the group video with `sudo usermod -aG video $USER`, and log in again.",
        )
    if error.errno == errno.ENOTTY:
        return UsageError(f"{path} is not a camera.", "Give a device such as /dev/video0.")
    return lost_error(path, error)
