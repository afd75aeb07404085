"""Read a Linux camera (Video4Linux2) without copies: frames stay in the driver's own buffers until they are released.

This is tested with the kernel's virtual camera (vivid) in an emulated PC (``make test-vm``), and has never run with a
real camera.
"""

from __future__ import annotations

import errno
import os
import select
import time
from contextlib import suppress

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import SourceCounters, SourceLost
from arenite.host.camera.sources.frame_decimator import FrameDecimator
from arenite.host.camera.sources.mjpeg_decoder import MjpegDecoder
from arenite.host.camera.sources.v4l2.api import (
    API,
    EVENT_SOURCE_CHANGE,
    FLAG_MONOTONIC,
    FLAG_TIMESTAMP,
    SOURCE_CHANGE_RESOLUTION,
)
from arenite.host.camera.sources.v4l2.buffers import V4l2Buffers
from arenite.host.camera.sources.v4l2.discovery import stable_name
from arenite.host.camera.sources.v4l2.errors import lost_error, open_error
from arenite.host.camera.sources.v4l2.ioctl import ioctl
from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.setup import NegotiatedFormat, negotiate_format, set_interval

#: The number of buffers: two for the driver to fill, and two that the loop may hold.
BUFFERS = 4
#: A time stamp that is older than this, or in the future, is not from the monotonic clock, even if the driver says so.
MAX_TIMESTAMP_AGE_NS = 10_000_000_000
#: A frame that has waited for more than this number of frame intervals is outdated: the camera had stopped because it
#: had no free buffer.
MAX_AGE_INTERVALS = 1.5


class V4l2Camera:
    """A ``Source`` of a Linux camera. ``min_size`` is the minimum width and height to which a JPEG picture may be
    scaled down while it is decoded."""

    live = True

    def __init__(
        self,
        path: str,
        request: RequestedMode | None = None,
        *,
        buffers: int = BUFFERS,
        min_size: tuple[int, int] | None = None,
        index: int = 0,
    ) -> None:
        self.name = path
        self.counters = SourceCounters()
        self.card = ""
        self._request, self._count, self._min_size, self._index = (
            request or RequestedMode(),
            buffers,
            min_size,
            index,
        )
        self._device = -1
        self._stable_path = path  # a name that the camera keeps when it is plugged in again
        self._poll = select.poll()
        self._buffers: V4l2Buffers | None = None
        self._agreed: NegotiatedFormat | None = None
        self._format: Format | None = None
        self._decoder: MjpegDecoder | None = None
        self._sequence = -1  # number of the last frame that was returned
        self._driver_sequence = -1  # the driver's number of that frame; -1 at the start of a stream
        self._decimator = FrameDecimator()  # used if the driver does not change its rate
        self._stale_ns = 0  # a frame that is older than usual by more than this is outdated
        self._delay_ns = 0  # the usual age of a frame when it arrives

    def open(self) -> Format:
        try:
            return self._start()
        except OSError as error:
            self.close()
            raise open_error(self.name, error) from error
        except BaseException:
            self.close()
            raise

    def _start(self) -> Format:
        # A camera that was plugged in again may have another number, and another camera may have its old number.
        self._device = os.open(self._stable_path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._stable_path = stable_name(self._stable_path)
        agreed = self._agreed = negotiate_format(self._device, self.name, self._request)
        self.card = agreed.card
        if agreed.format.pixels == "mjpeg":
            self._decoder = MjpegDecoder(self._request.pixels or "rgb", self._min_size)
            self._format = self._decoder.set_camera_size(agreed.format)
        else:
            self._decoder, self._format = None, agreed.format
        with suppress(OSError):  # few drivers have events
            subscription = API.EventSubscription(type=EVENT_SOURCE_CHANGE)
            ioctl(self._device, API.SUBSCRIBE_EVENT, subscription)
        self._buffers = V4l2Buffers(
            self._device, agreed.kind, self._count, agreed.format, agreed.areas, agreed.used
        )
        self._driver_sequence = -1
        self._decimator.set(None)
        self._stale_ns = int(MAX_AGE_INTERVALS * 1e9 / (agreed.format.fps or 30.0))
        import ctypes

        ioctl(self._device, API.STREAMON, ctypes.c_int32(agreed.kind))
        self._poll = select.poll()
        self._poll.register(self._device, select.POLLIN | select.POLLPRI)
        return self._format

    def read(self, timeout_s: float) -> Frame | None:
        buffers = self._buffers
        if buffers is None:
            raise UsageError(f"The camera {self.name} is not open.", "Call open first.")
        end = time.monotonic() + timeout_s
        waited = False
        try:
            while True:
                frame = self._newest_frame(buffers, waited)
                if frame is not None:
                    return frame
                wait = end - time.monotonic()
                events = self._poll.poll(max(wait, 0) * 1000)
                if not events:
                    return None
                if events[0][1] != select.POLLIN and self._handle_events(events[0][1]):
                    buffers = self._buffers or buffers
                waited = True
        except OSError as error:
            raise lost_error(self.name, error) from error

    def _newest_frame(self, buffers: V4l2Buffers, waited: bool) -> Frame | None:
        """Dequeue all buffers that have a picture. Return the newest complete picture, and give the other buffers back
        to the driver. Return None if there is no picture yet.

        A driver stops when all its buffers are full. For a slow reader, even the newest picture is then old, so it is
        skipped too, and the next picture is used. ``waited`` says whether the caller waited for a picture.
        """
        newest, sequence, stamp, length, now = -1, 0, 0, 0, 0
        while True:
            try:
                index = buffers.dequeue()
            except BlockingIOError:
                break
            if buffers.is_damaged(index):
                self.counters.errors += 1
                buffers.queue(index)
                continue
            if newest >= 0:
                buffers.queue(newest)
            taken = buffers.taken
            newest, sequence = index, taken.sequence
            length = buffers.length(index) if self._decoder is not None else 0
            now = time.monotonic_ns()
            stamp = now
            if taken.flags & FLAG_TIMESTAMP == FLAG_MONOTONIC:
                driver_ns = taken.timestamp.tv_sec * 1_000_000_000 + taken.timestamp.tv_usec * 1000
                stamp = driver_ns if 0 <= now - driver_ns < MAX_TIMESTAMP_AGE_NS else now
        if newest < 0:
            return None
        if waited:
            # Update the usual age of a frame when it arrives, because USB takes a frame interval to transfer it.
            self._delay_ns += (now - stamp - self._delay_ns) // 8
        elif now - stamp > self._delay_ns + self._stale_ns:
            buffers.queue(newest)
            return None
        if self._decimator.drops_frame(stamp):
            self._driver_sequence = sequence
            buffers.queue(newest)
            return None
        # The driver's counter has 32 bits and wraps around. If the driver does not count, it is always the same.
        missed = (
            ((sequence - self._driver_sequence) & 0xFFFFFFFF) - 1 if self._driver_sequence >= 0 else sequence
        )
        missed = missed if 0 <= missed < 1 << 30 else 0
        if self._decoder is not None:
            return self._decode_frame(buffers, newest, length, sequence, missed, stamp)
        memory = buffers.memory[newest]
        self._count_frame(sequence, missed)
        return Frame(
            self._format,  # type: ignore[arg-type]
            buffers.planes[newest],
            memory,
            self._sequence,
            stamp,
            buffers.release[newest],
            memory.fds[0] if memory.fds else None,
            self._index,
            missed,
        )

    def _count_frame(self, sequence: int, missed: int) -> None:
        self._driver_sequence = sequence
        self._sequence += missed + 1
        self.counters.count_frame(missed)

    def _decode_frame(
        self, buffers: V4l2Buffers, index: int, length: int, sequence: int, missed: int, stamp: int
    ) -> Frame | None:
        """Decode the picture of buffer ``index`` into memory of this source, and give the buffer back to the driver.
        Return None if the picture is damaged."""
        assert self._decoder is not None and self._agreed is not None
        try:
            decoded = self._decoder.decode(buffers.planes[index][0], length, self._agreed.format.fps)
        finally:
            buffers.queue(index)
        if decoded is None:
            self.counters.errors += 1
            return None
        self._count_frame(sequence, missed)
        self._format = decoded.format
        return Frame(
            decoded.format,
            decoded.planes,
            decoded.owner,
            self._sequence,
            stamp,
            decoded.release,
            None,
            self._index,
            missed,
        )

    def _handle_events(self, flags: int) -> bool:
        """Handle events of the driver. Return True if the stream was restarted. Raises ``OSError`` if the camera was
        disconnected, and ``SourceLost`` if it no longer has a supported mode."""
        if flags & select.POLLPRI:
            event = API.Event()
            ioctl(self._device, API.DQEVENT, event, True)
            if event.type == EVENT_SOURCE_CHANGE and event.u.src_changes & SOURCE_CHANGE_RESOLUTION:
                self.close()
                try:
                    self._start()
                except UsageError as error:  # the present mode is not supported, but a later mode may be
                    raise SourceLost(error.problem, error.hint) from error
                return True
        elif flags & (select.POLLERR | select.POLLHUP) and not flags & select.POLLIN:
            raise OSError(errno.EIO, "the driver reports an error")
        return False

    def set_rate(self, fps: float) -> float:
        """Set the driver's rate. If the driver refuses to change the rate while it streams, frames are skipped instead.
        Skipped frames count neither as captured nor as dropped."""
        if not 0 < fps <= 1000:
            raise UsageError(f"{fps} frames per second is not a possible rate.", "Give 0.1 to 1000.")
        agreed = self._agreed
        if agreed is None or self._device < 0:
            self._request = RequestedMode(
                self._request.width, self._request.height, fps, self._request.pixels
            )
            return fps
        native = agreed.format.fps
        with suppress(OSError):
            if agreed.sets_rate:
                native = set_interval(self._device, agreed.kind, fps)[0]
        if native and native <= fps * 1.05:
            self._decimator.set(None)
            return native
        self._decimator.set(fps)
        return fps

    def close(self) -> None:
        if self._buffers is not None:
            self._buffers.close()
            self._buffers = None
        if self._device >= 0:
            os.close(self._device)
            self._device = -1
