"""Map a camera's buffers into this process, queue them to the driver, and dequeue them when they have a picture."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import ref

from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.buffer_pool import consecutive_planes
from arenite.host.camera.sources.v4l2.api import API, CAPTURE_MPLANE, FLAG_ERROR, MAX_PLANES, MMAP
from arenite.host.camera.sources.v4l2.ioctl import ioctl

Ioctl = Callable[..., int]


class MappedBuffer:
    """A buffer that is mapped into this process. ``fds`` has file descriptors of its memory areas as DMABUF, if the
    driver can export them. The buffer stays mapped as long as this object exists, so that a frame can still be read
    after its camera was disconnected."""

    __slots__ = ("__weakref__", "_maps", "addresses", "fds", "lengths")

    def __init__(self, maps: list[mmap.mmap], fds: list[int]) -> None:
        self._maps = maps
        self.fds = fds
        self.lengths = [len(area) for area in maps]
        self.addresses = tuple(ctypes.addressof(ctypes.c_uint8.from_buffer(area)) for area in maps)

    def unmap(self) -> None:
        """Unmap the buffer. Call this when the buffer is no longer read: while a buffer is mapped, the number of its
        device stays in use, so that a camera that is plugged in again gets another number."""
        maps, fds, self._maps, self.fds = self._maps, self.fds, [], []
        for area in maps:
            area.close()
        for fd in fds:
            os.close(fd)

    def __del__(self) -> None:
        self.unmap()


class V4l2Buffers:
    """``count`` buffers of the open ``device``. At first, all buffers are queued to the driver, which fills them.

    ``dequeue`` and ``queue`` are called for every frame. Each of them costs one ioctl on a prepared structure, and
    raises ``OSError``.
    """

    def __init__(
        self, device: int, kind: int, count: int, format: Format, planes: int, picture_bytes: list[int]
    ) -> None:
        """``kind`` is ``CAPTURE`` or ``CAPTURE_MPLANE``. ``planes`` is the number of memory areas per buffer.
        ``picture_bytes`` has the number of bytes that a complete picture has in each memory area."""
        self._ioctl: Ioctl = ioctl
        self._device, self._kind, self._picture_bytes = device, kind, picture_bytes
        self._format = format
        self.memory: list[MappedBuffer] = []
        request = API.RequestBuffers(count=count, type=kind, memory=MMAP)
        ioctl(device, API.REQBUFS, request, True)
        self.count = request.count
        if not self.count:
            raise OSError(errno.ENOMEM, "the driver gave no buffer")
        self._mplane = kind == CAPTURE_MPLANE
        areas = planes if self._mplane else 0
        # There is one structure for dequeued buffers, and one structure per buffer to queue it again.
        self.taken, self._areas = self._buffer_struct(0)
        self._buffer_records = []
        self._plane_arrays = []  # kept alive, because the structures contain their addresses
        self._offsets: list[tuple[int, ...]] = []
        # Addresses of the planes of each buffer, as in ``Frame.planes``.
        self.planes: list[tuple[int, ...]] = []
        for index in range(self.count):
            buffer, array = self._buffer_struct(index)
            ioctl(device, API.QUERYBUF, buffer, True)
            self.memory.append(self._map_buffer(index, buffer, array, areas))
            self._buffer_records.append(buffer)
            self._plane_arrays.append(array)
            if any(has < needs for has, needs in zip(self.memory[-1].lengths, picture_bytes, strict=True)):
                raise OSError(errno.EPROTO, "the driver's buffers are smaller than its pictures")
            self._offsets.append((0,) * max(areas, 1))
            self.planes.append(self._addresses(index))
        #: For each buffer, a function that gives it back. The functions are created once and used for every frame.
        self.release = [partial(self._release, index) for index in range(self.count)]
        #: The indices of the buffers that the program holds. Any thread may release frames, and adding to a set and
        #: discarding from it are atomic.
        self._held_indexes: set[int] = set()
        self._open = True
        self._memory_at_close: list[ref[MappedBuffer]] = []
        for index in range(self.count):
            self.queue(index)

    def _buffer_struct(self, index: int) -> tuple[Any, Any]:
        """Return a structure for buffer ``index``, and its array of planes (None for a device of the kind
        ``CAPTURE``)."""
        buffer = API.Buffer(index=index, type=self._kind, memory=MMAP)
        array: Any = None
        if self._mplane:
            array = (API.Plane * MAX_PLANES)()
            buffer.m.planes, buffer.length = ctypes.addressof(array), MAX_PLANES
        return buffer, array

    def _map_buffer(self, index: int, buffer: Any, array: Any, areas: int) -> MappedBuffer:
        offsets_and_lengths = (
            [(array[k].m.mem_offset, array[k].length) for k in range(areas)]
            if areas
            else [(buffer.m.offset, buffer.length)]
        )
        maps = [mmap.mmap(self._device, length, offset=offset) for offset, length in offsets_and_lengths]
        fds = []
        for plane in range(len(maps)):
            export = API.ExportBuffer(type=self._kind, index=index, plane=plane, flags=os.O_CLOEXEC)
            try:
                self._ioctl(self._device, API.EXPBUF, export, True)
            except OSError:
                break  # not every driver can export buffers; the mapping is enough
            fds.append(export.fd)
        return MappedBuffer(maps, fds)

    def _addresses(self, index: int) -> tuple[int, ...]:
        """Return the addresses of the planes of buffer ``index``. Planes in one memory area follow each other."""
        base = [a + o for a, o in zip(self.memory[index].addresses, self._offsets[index], strict=True)]
        return tuple(base) if len(base) > 1 else consecutive_planes(self._format, base[0])

    def dequeue(self) -> int:
        """Return the index of a buffer with a picture. ``taken`` then has the driver's structure for it. Raises
        ``BlockingIOError`` if there is no picture yet."""
        self._ioctl(self._device, API.DQBUF, self.taken, True)
        index = self.taken.index
        self._held_indexes.add(index)
        return int(index)

    def is_damaged(self, index: int) -> bool:
        """Return whether the picture in the buffer that was dequeued last is damaged: the driver marked it, or it is
        too short."""
        taken = self.taken
        if taken.flags & FLAG_ERROR:
            return True
        if not self._mplane:
            return bool(taken.bytesused < self._picture_bytes[0])
        areas = self._areas
        offsets = tuple(areas[k].data_offset for k in range(len(self._picture_bytes)))
        if offsets != self._offsets[index]:
            self._offsets[index] = offsets
            self.planes[index] = self._addresses(index)
        capacities = self.memory[index].lengths
        return any(
            min(areas[k].bytesused, capacities[k]) - offsets[k] < n for k, n in enumerate(self._picture_bytes)
        )

    def length(self, index: int) -> int:
        """Return the number of bytes of the picture in the first memory area of the buffer that was dequeued last. It
        is at most the size of the mapped memory."""
        capacity = self.memory[index].lengths[0]
        if not self._mplane:
            return int(min(self.taken.bytesused, capacity))
        return int(min(self._areas[0].bytesused, capacity) - self._areas[0].data_offset)

    def queue(self, index: int) -> None:
        """Give the buffer to the driver, which fills it again."""
        self._held_indexes.discard(index)
        self._ioctl(self._device, API.QBUF, self._buffer_records[index], True)

    def _release(self, index: int) -> None:
        """Give a buffer back to the driver, or unmap it after ``close``. Errors of a disconnected camera are ignored
        here, because the next read reports them."""
        if self._open:
            with suppress(OSError):
                self.queue(index)
        elif (memory := self._memory_at_close[index]()) is not None:
            memory.unmap()

    def close(self) -> None:
        """Stop the camera. Buffers that are still held stay readable. Raises no errors."""
        # Do this first, because other threads may release frames meanwhile.
        self._memory_at_close = [ref(memory) for memory in self.memory]
        self._open = False
        for index, memory in enumerate(self.memory):
            if index not in self._held_indexes:
                memory.unmap()
        self.memory = []
        with suppress(OSError):
            self._ioctl(self._device, API.STREAMOFF, ctypes.c_int32(self._kind))
        # Let the driver free its buffers although they are mapped. Otherwise the device would be busy at the next
        # open.
        with suppress(OSError):
            self._ioctl(self._device, API.REQBUFS, API.RequestBuffers(type=self._kind, memory=MMAP), True)
