"""Read a recording for an application: a WAV file for a microphone, NumPy or CSV for sensors with several channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arenite.converters.processing.long_sound import open_sound
from arenite.converters.processing.motion_files import MOTION_SUFFIXES, read_motion
from arenite.errors import UsageError
from arenite.firmware.app.settings import StreamSettings
from arenite.host.app.sensor_stream import MICROPHONE


def read_samples(path: Path, sensor: str, settings: StreamSettings) -> np.ndarray:
    """Return the int16 samples [samples, channels] of the recording at ``path`` for the sensor of an application with
    ``settings``. Raises ``UsageError`` if it cannot be read, is empty, or has another rate, shape or type."""
    if not path.exists():
        raise UsageError(f"{path} does not exist.", "Check the path of the recording.")
    samples = read_recording(path, sensor, settings.rate, settings.channels)
    if not len(samples):
        raise UsageError(f"{path} has no samples.", "Give a longer recording.")
    return samples


def read_recording(path: Path, sensor: str, rate: int, channels: int) -> np.ndarray:
    """Do the same for a sensor with ``rate`` samples per second and ``channels`` values of a sample."""
    if sensor == MICROPHONE:
        return open_sound(path, rate)
    if path.suffix.lower() not in MOTION_SUFFIXES:
        raise UsageError(
            f"{path} is not a recording for the sensor '{sensor}'.",
            f"Give a file {', '.join(MOTION_SUFFIXES)} with {channels} int16 value(s) per sample.",
        )
    return read_motion(path, channels)
