"""Read several cameras at once, in sets of frames that were captured together within a jitter budget.

Each camera has a thread that waits for frames and reads the newest frame. ``FrameSetAssembler`` combines the frames.
The loop requests the next set, and gets it when the last awaited camera has delivered a frame, or at the deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from arenite.errors import AreniteError, UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.several.frame_set_assembler import CameraCounters, FrameSet, FrameSetAssembler
from arenite.host.camera.sources.base import EndOfSource, Source, SourceLost

#: The time in seconds that a thread waits for a frame before it checks whether it should stop.
_READ_S = 0.1
#: The first and the longest wait in seconds between two attempts to open a camera that was lost.
_FIRST_BACK_OFF_S, _MAX_BACK_OFF_S = 0.1, 5.0


class FrameSets:
    """Sets of frames of ``sources``: ``frames[i]`` of a set is from ``sources[i]``.

    ``jitter_s`` is the maximum time between the captures of one set. The captures of cameras that are not synchronized
    are up to half a frame interval apart, so ``jitter_s`` should be at least that. ``timeout_s`` is the maximum time
    that a set waits for other cameras after its first frame arrived; if it is longer than a frame interval, frames
    queue up. ``depth`` is the number of frames of each camera that may wait.

    The frame of a camera that has not delivered a frame yet is None.
    """

    def __init__(self, sources: Sequence[Source], jitter_s: float, timeout_s: float, depth: int = 2) -> None:
        if not sources:
            raise UsageError("There is no camera to take frames from.", "Give at least one source.")
        if jitter_s < 0 or timeout_s <= 0:
            raise UsageError(
                f"Frames {jitter_s * 1e3:g} ms apart with a timeout of {timeout_s * 1e3:g} ms cannot be sets.",
                "Give a jitter budget of 0 or more and a timeout above 0.",
            )
        self._sources = list(sources)
        self._assembler = FrameSetAssembler(
            len(sources), round(jitter_s * 1e9), round(timeout_s * 1e9), depth
        )
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._ended = 0
        self._failed: Exception | None = None

    def open(self) -> list[Format]:
        """Open every source, begin to read, and return the format of each source. If a source raises an error, close
        all sources and raise the error again."""
        formats: list[Format] = []
        try:
            for source in self._sources:
                formats.append(source.open())
        except BaseException:
            for source in self._sources[: len(formats)]:
                source.close()
            raise
        self._stop.clear()
        self._ended = 0
        for index, source in enumerate(self._sources):
            thread = threading.Thread(
                target=self._read, args=(index, source), name=f"camera {index}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return formats

    def next(self, timeout_s: float = 1.0) -> FrameSet | None:
        """Return the newest set. Wait at most ``timeout_s`` seconds for a set, and return None if there is none. The
        caller must release the set.

        Raises ``EndOfSource`` if every source has ended. Any other error of a source is raised too, except
        ``SourceLost``: a lost camera is opened again.
        """
        end = time.monotonic_ns() + round(timeout_s * 1e9)
        with self._changed:
            while True:
                now = time.monotonic_ns()
                frame_set = self._assembler.take(now)
                if frame_set is not None:
                    return frame_set
                if self._failed is not None:
                    raise self._failed
                if self._ended == len(self._sources) and self._assembler.deadline_ns is None:
                    raise EndOfSource
                wake = min(end, self._assembler.deadline_ns or end)
                if now >= end:
                    return None
                self._changed.wait(max(0.0, (wake - now) / 1e9))

    def close(self) -> None:
        """Close the sources. Sets that were handed out stay valid until they are released."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        with self._changed:
            self._assembler.close()
        for source in self._sources:
            source.close()

    @property
    def counters(self) -> list[CameraCounters]:
        return self._assembler.counters

    def to_json(self) -> list[dict[str, Any]]:
        """Return the counters of each camera as JSON."""
        return [
            {
                "source": source.name,
                "captured": source.counters.captured,
                "arrived": counted.arrived,
                "used": counted.used,
                "dropped": source.counters.dropped + counted.dropped,
                "late": counted.late,
                "stood_in": counted.repeated,
                "missing": counted.missing,
                "reconnects": source.counters.reconnects,
            }
            for source, counted in zip(self._sources, self.counters, strict=True)
        ]

    def _read(self, index: int, source: Source) -> None:
        """Read frames of one source until the sets are closed. This runs in the source's thread."""
        try:
            while not self._stop.is_set():
                try:
                    frame = source.read(_READ_S)
                except SourceLost:
                    with self._changed:
                        self._assembler.mark_absent(index)
                    if not self._reopen(source):
                        return
                    continue
                if frame is None:
                    continue
                frame.source = index
                with self._changed:
                    self._assembler.add_frame(index, frame, time.monotonic_ns())
                    self._changed.notify_all()
        except EndOfSource:
            pass
        except Exception as error:  # raised by ``next``
            self._failed = error
        finally:
            with self._changed:
                self._assembler.mark_absent(index)
                self._ended += 1
                self._changed.notify_all()

    def _reopen(self, source: Source) -> bool:
        """Try to open the source again until that succeeds. Return False if the sets are closed before."""
        wait = _FIRST_BACK_OFF_S
        while not self._stop.wait(wait):
            try:
                source.close()
                source.open()
            except AreniteError:  # opening succeeded once, so the problem may pass
                wait = min(2 * wait, _MAX_BACK_OFF_S)
            else:
                source.counters.reconnects += 1
                return True
        return False
