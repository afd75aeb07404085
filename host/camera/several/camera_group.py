"""Use several cameras as one source that delivers the frames of each set one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.several.frame_sets import FrameSets
from arenite.host.camera.sources.base import Source, SourceCounters


class CameraGroup:
    """A source that reads several cameras in sets of frames that were captured together (``FrameSets``).

    ``frame.source`` is the index of the camera, from 0. ``frame.stand_in`` is True for an older frame that is repeated
    because the camera is late.
    """

    live = True

    def __init__(self, sources: Sequence[Source], jitter_s: float, timeout_s: float) -> None:
        self._sources = list(sources)
        self._sets = FrameSets(sources, jitter_s, timeout_s)
        self._waiting: deque[Frame] = deque()
        self.name = ", ".join(source.name for source in sources)

    @property
    def counters(self) -> SourceCounters:
        """The counters of all cameras together."""
        sets = self._sets.to_json()
        return SourceCounters(
            captured=sum(counts["captured"] for counts in sets),
            dropped=sum(counts["dropped"] for counts in sets),
            errors=sum(source.counters.errors for source in self._sources),
            reconnects=sum(counts["reconnects"] for counts in sets),
        )

    def open(self) -> Format:
        """Open all cameras, and return the format of the first camera."""
        return self._sets.open()[0]

    def read(self, timeout_s: float) -> Frame | None:
        if not self._waiting:
            frame_set = self._sets.next(timeout_s)
            if frame_set is None:
                return None
            for frame, fresh in zip(frame_set.frames, frame_set.fresh, strict=True):
                if frame is None:
                    continue
                self._waiting.append(frame if fresh else _as_stand_in(frame))
        return self._waiting.popleft() if self._waiting else None

    def set_rate(self, fps: float) -> float:
        return min(source.set_rate(fps) for source in self._sources)

    def close(self) -> None:
        while self._waiting:
            self._waiting.popleft().release()
        self._sets.close()

    def to_json(self) -> list[dict[str, Any]]:
        """Return the counters of each camera as JSON."""
        return self._sets.to_json()


def _as_stand_in(frame: Frame) -> Frame:
    """Return ``frame`` as a separate frame with ``stand_in``. When the new frame is released, it releases ``frame`` for
    the set."""
    return Frame(
        frame.format,
        frame.planes,
        frame,
        frame.sequence,
        frame.time_ns,
        release=frame.release,
        dmabuf=frame.dmabuf,
        source=frame.source,
        stand_in=True,
    )
