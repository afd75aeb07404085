"""A camera's buffers, mapped into this process: handed to the driver, taken back with a picture in them."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from weakref import ref

from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.buffer_pool import consecutive_planes
from arenite.host.camera.sources.v4l2_api import API, CAPTURE_MPLANE, FLAG_ERROR, MAX_PLANES, MMAP

Ioctl = Callable[..., int]


class MappedBuffer:
    """One buffer: mapped, and exported as DMABUF where the driver can. Both last as long as somebody holds this, so
    that a frame stays readable when its camera has gone."""

    __slots__ = ("__weakref__", "_maps", "addresses", "fds", "lengths")

    def __init__(self, maps: list[mmap.mmap], fds: list[int]) -> None:
        self._maps = maps
        self.fds = fds
        self.lengths = [len(each) for each in maps]
        self.addresses = tuple(ctypes.addressof(ctypes.c_uint8.from_buffer(each)) for each in maps)

    def unmap(self) -> None:
        """Nobody reads it any more. A device's number is taken for as long as one of its buffers is mapped, so that a
        camera that is plugged in anew would get another one."""
        maps, fds, self._maps, self.fds = self._maps, self.fds, [], []
        for each in maps:
            each.close()
        for fd in fds:
            os.close(fd)

    def __del__(self) -> None:
        self.unmap()


class V4l2Buffers:
    """``count`` buffers of the open ``device``, all with the driver at first.

    ``dequeue`` and ``queue`` are the hot path: one ioctl each on structs made here. They raise what the ioctl does.
    """

    def __init__(
        self, device: int, kind: int, count: int, format: Format, planes: int, used: list[int]
    ) -> None:
        """``planes``: memory areas per buffer; ``used``: bytes that a whole picture has in each."""
        from fcntl import ioctl

        self._ioctl: Ioctl = ioctl
        self._device, self._kind, self._used = device, kind, used
        self._format = format
        self.memory: list[MappedBuffer] = []
        request = API.RequestBuffers(count=count, type=kind, memory=MMAP)
        ioctl(device, API.REQBUFS, request, True)
        self.count = request.count
        if not self.count:
            raise OSError(errno.ENOMEM, "the driver gave no buffer")
        self._mplane = kind == CAPTURE_MPLANE
        areas = planes if self._mplane else 0
        # One struct for the driver's answers, and one per buffer to hand it back with.
        self.taken, self._areas = self._buffer(0)
        self._returned = []
        self._keep = []  # the plane arrays, whose addresses the structs have
        self._offsets: list[tuple[int, ...]] = []
        self.planes: list[tuple[int, ...]] = []  # of each buffer, as a frame has them
        for index in range(self.count):
            buffer, array = self._buffer(index)
            ioctl(device, API.QUERYBUF, buffer, True)
            self.memory.append(self._map(index, buffer, array, areas))
            self._returned.append(buffer)
            self._keep.append(array)
            if any(has < needs for has, needs in zip(self.memory[-1].lengths, used, strict=True)):
                raise OSError(errno.EPROTO, "its driver's buffers are smaller than its pictures")
            self._offsets.append((0,) * max(areas, 1))
            self.planes.append(self._addresses(index))
        #: To give buffer ``i`` back, without making a function for each frame.
        self.release = [partial(self._give_back, index) for index in range(self.count)]
        #: With the program. Adding and discarding are atomic: frames are released by any thread.
        self._out: set[int] = set()
        self._open = True
        self._left: list[ref[MappedBuffer]] = []
        for index in range(self.count):
            self.queue(index)

    def _buffer(self, index: int):  # type: ignore[no-untyped-def]
        buffer = API.Buffer(index=index, type=self._kind, memory=MMAP)
        array = None
        if self._mplane:
            array = (API.Plane * MAX_PLANES)()
            buffer.m.planes, buffer.length = ctypes.addressof(array), MAX_PLANES
        return buffer, array

    def _map(self, index: int, buffer, array, areas: int) -> MappedBuffer:  # type: ignore[no-untyped-def]
        where = (
            [(array[k].m.mem_offset, array[k].length) for k in range(areas)]
            if areas
            else [(buffer.m.offset, buffer.length)]
        )
        maps = [mmap.mmap(self._device, length, offset=offset) for offset, length in where]
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
        """Of the format's planes. Those in one memory lie behind one another."""
        base = [a + o for a, o in zip(self.memory[index].addresses, self._offsets[index], strict=True)]
        return tuple(base) if len(base) > 1 else consecutive_planes(self._format, base[0])

    def dequeue(self) -> int:
        """The index of a buffer with a picture; ``taken`` has what the driver says of it. BlockingIOError: none yet."""
        self._ioctl(self._device, API.DQBUF, self.taken, True)
        index = self.taken.index
        self._out.add(index)
        value: int = index
        return value

    def damaged(self, index: int) -> bool:
        """Of the buffer just taken: marked by the driver, or shorter than a picture."""
        taken = self.taken
        if taken.flags & FLAG_ERROR:
            return True
        if not self._mplane:
            value: bool = taken.bytesused < self._used[0]
            return value
        areas = self._areas
        offsets = tuple(areas[k].data_offset for k in range(len(self._used)))
        if offsets != self._offsets[index]:
            self._offsets[index] = offsets
            self.planes[index] = self._addresses(index)
        rooms = self.memory[index].lengths
        return any(min(areas[k].bytesused, rooms[k]) - offsets[k] < n for k, n in enumerate(self._used))

    def length(self, index: int) -> int:
        """Bytes of the picture in the first area of the buffer just taken; not more than are mapped, whatever the
        driver says."""
        room = self.memory[index].lengths[0]
        if not self._mplane:
            return int(min(self.taken.bytesused, room))
        return int(min(self._areas[0].bytesused, room) - self._areas[0].data_offset)

    def queue(self, index: int) -> None:
        """Give the buffer to the driver."""
        self._out.discard(index)
        self._ioctl(self._device, API.QBUF, self._returned[index], True)

    def _give_back(self, index: int) -> None:
        """After ``close`` the buffer goes with its last reader. A camera that is gone is no matter of
        whoever has read its last frame; the next one to ask it for something is told."""
        if self._open:
            with suppress(OSError):
                self.queue(index)
        elif (memory := self._left[index]()) is not None:
            memory.unmap()

    def close(self) -> None:
        """Stop the camera, and leave the buffers to whoever still reads them. Raises nothing."""
        self._left = [ref(each) for each in self.memory]  # first: frames are given back meanwhile
        self._open = False
        for index, memory in enumerate(self.memory):
            if index not in self._out:
                memory.unmap()
        self.memory = []
        with suppress(OSError):
            self._ioctl(self._device, API.STREAMOFF, ctypes.c_int32(self._kind))
        # The driver lets go of its buffers though they are mapped; else the next open would find it busy.
        with suppress(OSError):
            self._ioctl(self._device, API.REQBUFS, API.RequestBuffers(type=self._kind, memory=MMAP), True)
