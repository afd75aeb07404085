"""Read a live source so late that it misses pictures."""

from __future__ import annotations

import time

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import Source


def read_late(source: Source, earlier: Frame, missed: int) -> tuple[Frame, int]:
    """Read a frame after at least ``missed`` missed pictures. Return it, and the number of all pictures that were
    missed since the frame ``earlier``.

    The pauses between reads become longer, because the pictures of a stream come late on a busy computer.
    """
    end = time.monotonic() + 60
    pause_s, all_missed = 0.2, 0
    while True:
        time.sleep(pause_s)
        frame = source.read(60)
        assert frame is not None
        assert frame.sequence == earlier.sequence + frame.missed + 1
        all_missed += frame.missed
        if frame.missed >= missed:
            return frame, all_missed
        assert time.monotonic() < end, f"only {all_missed} pictures came in a minute"
        earlier, pause_s = frame, 2 * pause_s
