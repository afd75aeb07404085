"""Combine frames of several cameras into sets of frames that were captured together.

The time stamps of the frames decide; this module reads no clock and starts no thread. Up to ``depth`` frames of each
camera may wait. A set is complete if every camera has a frame inside an interval whose length is the jitter budget; the
newest such interval is used. If a camera is later than the timeout, its latest frame is repeated. If a camera was late
several times in a row, no set waits for it until it delivers again, so that a dead camera does not delay the other
cameras.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from arenite.host.camera.frames.frame import Frame

#: The number of sets in a row that a camera may miss before sets no longer wait for it.
MAX_MISSED_SETS = 3


@dataclass(slots=True)
class CameraCounters:
    """Counters of one camera. Every frame that arrived is counted once as ``used`` or ``dropped``, or is still held."""

    arrived: int = 0
    used: int = 0  # frames used as a fresh frame of a set
    dropped: int = 0  # frames dropped because there was a newer frame, or because they were late
    late: int = 0  # dropped frames that came after the set that they belonged to
    repeated: int = 0  # sets in which an older frame of this camera was repeated
    missing: int = 0  # sets without a frame of this camera, because it had not delivered any frame yet


@dataclass(slots=True)
class FrameSet:
    """One frame of each camera.

    ``fresh[i]`` is True if ``frames[i]`` was captured inside the interval of the set. Otherwise ``frames[i]`` is an
    older frame, or None if camera i never delivered a frame. ``time_ns`` is the time of the earliest capture among the
    fresh frames. The receiver of a set must call ``release`` once.
    """

    number: int
    time_ns: int
    span_ns: int  # time between the first and the last capture of the fresh frames, at most the jitter budget
    frames: tuple[Frame | None, ...]
    fresh: tuple[bool, ...]

    @property
    def complete(self) -> bool:
        return all(self.fresh)

    def release(self) -> None:
        for frame in self.frames:
            if frame is not None:
                frame.release()


@dataclass(slots=True)
class _Camera:
    """The frames of one camera, and its counters."""

    #: The frames that wait, and their times of arrival; the oldest frame comes first.
    waiting: list[tuple[Frame, int]] = field(default_factory=list)
    latest: Frame | None = None  # the frame to repeat: the last frame that was used or late
    newest_ns: int = -1  # the capture time of the newest frame that arrived
    missed: int = 0  # number of sets in a row without a fresh frame of this camera
    counters: CameraCounters = field(default_factory=CameraCounters)


class FrameSetAssembler:
    """Assembles sets of frames. Two threads must not call its methods at the same time. All times are in nanoseconds,
    and captures and arrivals use the same clock.

    For each camera, at most ``depth`` frames wait, one more frame is held to be repeated, and one may be in the set
    that is served. A driver needs ``depth + 3`` buffers, so that it always has a buffer to fill.
    """

    def __init__(
        self,
        cameras: int,
        jitter_ns: int,
        timeout_ns: int,
        depth: int = 2,
        max_missed_sets: int = MAX_MISSED_SETS,
    ) -> None:
        self._cameras = [_Camera() for _ in range(cameras)]
        self._jitter, self._timeout = jitter_ns, timeout_ns
        self._depth, self._max_missed_sets = depth, max_missed_sets
        self._last_ns = -1  # the latest capture time among the fresh frames of the last set
        self._waiting_since: int | None = None
        self._sets = 0

    @property
    def counters(self) -> list[CameraCounters]:
        return [camera.counters for camera in self._cameras]

    @property
    def deadline_ns(self) -> int | None:
        """The time at which ``take`` returns a set at the latest; None while no frame waits."""
        return None if self._waiting_since is None else self._waiting_since + self._timeout

    def mark_absent(self, index: int) -> None:
        """Do not wait for the camera ``index``, which was lost, until it delivers again."""
        self._cameras[index].missed = self._max_missed_sets

    def add_frame(self, index: int, frame: Frame, now_ns: int) -> None:
        """Add a frame of the camera ``index`` that arrived at ``now_ns``. The assembler will release the frame."""
        camera = self._cameras[index]
        camera.counters.arrived += 1
        if frame.time_ns <= camera.newest_ns:
            # The driver repeated a frame, or delivered frames out of order.
            camera.counters.dropped += 1
            frame.release()
            return
        camera.newest_ns = frame.time_ns
        if frame.time_ns <= self._last_ns:
            camera.counters.late += 1
            camera.counters.dropped += 1
            self._keep_as_stand_in(camera, frame)
            return
        if len(camera.waiting) == self._depth:
            camera.counters.dropped += 1
            camera.waiting.pop(0)[0].release()
        camera.waiting.append((frame, now_ns))
        if self._waiting_since is None:
            self._waiting_since = now_ns

    def take(self, now_ns: int) -> FrameSet | None:
        """Return the newest complete set. If there is none, return the most complete set after the timeout, and None
        before it."""
        if self._waiting_since is None:
            return None
        awaited = [c for c in self._cameras if c.missed < self._max_missed_sets or c.waiting]
        start_ns = self._best_start(len(awaited))
        if start_ns is None and now_ns >= self._waiting_since + self._timeout:
            start_ns = self._best_start(1)
        return None if start_ns is None else self._build_set(start_ns, now_ns)

    def close(self) -> None:
        """Release every frame that the assembler holds."""
        for camera in self._cameras:
            for frame, _ in camera.waiting:
                camera.counters.dropped += 1
                frame.release()
            camera.waiting.clear()
            if camera.latest is not None:
                camera.latest.release()
                camera.latest = None
        self._waiting_since = None

    def _best_start(self, min_cameras: int) -> int | None:
        """Return the start of the interval that has frames of the most cameras; of several such intervals, the newest.
        Return None if no interval has frames of at least ``min_cameras`` cameras."""
        best, max_inside = None, max(min_cameras, 1) - 1
        starts = sorted((f.time_ns for c in self._cameras for f, _ in c.waiting), reverse=True)
        for start in starts:
            inside = sum(
                any(start <= frame.time_ns <= start + self._jitter for frame, _ in camera.waiting)
                for camera in self._cameras
            )
            if inside > max_inside:
                best, max_inside = start, inside
        return best

    def _build_set(self, start: int, now_ns: int) -> FrameSet:
        """Return the set of the interval that begins at ``start``."""
        frames: list[Frame | None] = []
        fresh: list[bool] = []
        times: list[int] = []
        for camera in self._cameras:
            chosen = self._choose(camera, start)
            fresh.append(chosen is not None)
            if chosen is not None:
                camera.counters.used += 1
                camera.missed = 0
                times.append(chosen.time_ns)
                self._keep_as_stand_in(camera, chosen)
            else:
                camera.missed += 1
                camera.counters.repeated += camera.latest is not None
                camera.counters.missing += camera.latest is None
            frames.append(camera.latest.retain() if camera.latest is not None else None)
        self._last_ns = max(times)
        self._sets += 1
        arrivals = [arrival for camera in self._cameras for _, arrival in camera.waiting]
        self._waiting_since = min(arrivals, default=None)
        return FrameSet(self._sets - 1, min(times), max(times) - min(times), tuple(frames), tuple(fresh))

    def _choose(self, camera: _Camera, start: int) -> Frame | None:
        """Return the camera's newest frame inside the interval that begins at ``start``; None if there is none. Older
        frames are dropped, and the newest frame from before the interval is kept as the stand-in."""
        chosen = None
        while camera.waiting and camera.waiting[0][0].time_ns <= start + self._jitter:
            frame, _ = camera.waiting.pop(0)
            if chosen is not None:
                camera.counters.dropped += 1
                chosen.release()
                chosen = None
            if frame.time_ns >= start:
                chosen = frame
            else:
                camera.counters.dropped += 1
                camera.counters.late += 1
                self._keep_as_stand_in(camera, frame)
        return chosen

    def _keep_as_stand_in(self, camera: _Camera, frame: Frame) -> None:
        """Hold ``frame`` as the frame to repeat if the camera is late, instead of the present one."""
        if camera.latest is not None:
            camera.latest.release()
        camera.latest = frame
