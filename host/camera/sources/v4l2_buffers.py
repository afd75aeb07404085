"""Map a camera's buffers into this process, queue them to the driver, and dequeue them with a picture."""

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
from arenite.host.camera.sources.v4l2_api import API, CAPTURE_MPLANE, FLAG_ERROR, MAX_PLANES, MMAP

Ioctl = Callable[..., int]


class MappedBuffer:
    """A mapped buffer, exported as DMABUF if the driver can. It stays mapped as long as this object is held, so that a
    frame remains readable after its camera was disconnected."""

    __slots__ = ("__weakref__", "_maps", "addresses", "fds", "lengths")

    def __init__(self, maps: list[mmap.mmap], fds: list[int]) -> None:
        self._maps = maps
        self.fds = fds
        self.lengths = [len(area) for area in maps]
        self.addresses = tuple(ctypes.addressof(ctypes.c_uint8.from_buffer(area)) for area in maps)

    def unmap(self) -> None:
        """Unmap the buffer when it is no longer read. The number of a device stays in use while one of its buffers is
        mapped, so that a camera that is plugged in again would get another number."""
        maps, fds, self._maps, self.fds = self._maps, self.fds, [], []
        for area in maps:
            area.close()
        for fd in fds:
            os.close(fd)

    def __del__(self) -> None:
        self.unmap()


class V4l2Buffers:
    """``count`` buffers of the open ``device``. At first all buffers are queued to the driver.

    ``dequeue`` and ``queue`` are called for every frame: one ioctl each, on prepared structures. They raise
    ``OSError``.
    """

    def __init__(
        self, device: int, kind: int, count: int, format: Format, planes: int, picture_bytes: list[int]
    ) -> None:
        """``planes`` is the number of memory areas per buffer; ``picture_bytes`` has the size of a complete picture in
        each."""
        from fcntl import ioctl

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
        # One structure for dequeued buffers, and one per buffer to queue it again.
        self.taken, self._areas = self._buffer(0)
        self._buffer_records = []
        self._plane_arrays = []  # kept alive, because the structures contain their addresses
        self._offsets: list[tuple[int, ...]] = []
        self.planes: list[tuple[int, ...]] = []  # addresses of the planes of each buffer, as in a frame
        for index in range(self.count):
            buffer, array = self._buffer(index)
            ioctl(device, API.QUERYBUF, buffer, True)
            self.memory.append(self._map(index, buffer, array, areas))
            self._buffer_records.append(buffer)
            self._plane_arrays.append(array)
            if any(has < needs for has, needs in zip(self.memory[-1].lengths, picture_bytes, strict=True)):
                raise OSError(errno.EPROTO, "the driver's buffers are smaller than its pictures")
            self._offsets.append((0,) * max(areas, 1))
            self.planes.append(self._addresses(index))
        #: Functions that give buffer ``i`` back, created once so that no frame needs a new one.
        self.release = [partial(self._release, index) for index in range(self.count)]
        #: Indexes of the buffers that the program holds. Adding and discarding are atomic, because any
        #: thread may release frames.
        self._held_indexes: set[int] = set()
        self._open = True
        self._memory_at_close: list[ref[MappedBuffer]] = []
        for index in range(self.count):
            self.queue(index)

    def _buffer(self, index: int) -> tuple[Any, Any]:
        """Return the driver's record of buffer ``index``, and its plane array (None for formats with one area)."""
        buffer = API.Buffer(index=index, type=self._kind, memory=MMAP)
        array: Any = None
        if self._mplane:
            array = (API.Plane * MAX_PLANES)()
            buffer.m.planes, buffer.length = ctypes.addressof(array), MAX_PLANES
        return buffer, array

    def _map(self, index: int, buffer: Any, array: Any, areas: int) -> MappedBuffer:
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
                break  # not every driver can; a plain mapping remains
            fds.append(export.fd)
        return MappedBuffer(maps, fds)

    def _addresses(self, index: int) -> tuple[int, ...]:
        """Return the addresses of the format's planes. Planes in one memory area follow each other."""
        base = [a + o for a, o in zip(self.memory[index].addresses, self._offsets[index], strict=True)]
        return tuple(base) if len(base) > 1 else consecutive_planes(self._format, base[0])

    def dequeue(self) -> int:
        """Return the index of a buffer with a picture; ``taken`` has the driver's record of it. Raises
        ``BlockingIOError`` if there is none yet."""
        self._ioctl(self._device, API.DQBUF, self.taken, True)
        index = self.taken.index
        self._held_indexes.add(index)
        return int(index)

    def damaged(self, index: int) -> bool:
        """Return whether the dequeued buffer is damaged: marked by the driver, or shorter than a picture."""
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
        rooms = self.memory[index].lengths
        return any(
            min(areas[k].bytesused, rooms[k]) - offsets[k] < n for k, n in enumerate(self._picture_bytes)
        )

    def length(self, index: int) -> int:
        """Return the bytes of the picture in the first area of the dequeued buffer, at most as many as are mapped."""
        room = self.memory[index].lengths[0]
        if not self._mplane:
            return int(min(self.taken.bytesused, room))
        return int(min(self._areas[0].bytesused, room) - self._areas[0].data_offset)

    def queue(self, index: int) -> None:
        """Queue the buffer to the driver."""
        self._held_indexes.discard(index)
        self._ioctl(self._device, API.QBUF, self._buffer_records[index], True)

    def _release(self, index: int) -> None:
        """Give a buffer back to the driver; after ``close`` unmap it. Errors of a disconnected camera are ignored here,
        because the next read reports them."""
        if self._open:
            with suppress(OSError):
                self.queue(index)
        elif (memory := self._memory_at_close[index]()) is not None:
            memory.unmap()

    def close(self) -> None:
        """Stop the camera. Buffers that are still held stay readable. Raises nothing."""
        # This comes first, because other threads release frames meanwhile.
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
