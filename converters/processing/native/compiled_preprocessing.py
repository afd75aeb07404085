"""Run preprocessing with the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.image.vector_tables import vector_of
from arenite.converters.processing.native import structs as c
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, planes_of
from arenite.converters.processing.specification.record_fields import record_error

if TYPE_CHECKING:
    from arenite.converters.processing.audio.micro_plan import MicroPlan
    from arenite.converters.processing.audio.plan import AudioPlan


class CompiledImage:
    """Runs the plan of a picture with the C code. ``run`` takes a buffer, ``bound`` takes the planes of a camera.

    Only one thread can use an object at a time, because the object has only one scratch memory.
    """

    def __init__(
        self, library: ctypes.CDLL, plan: ImagePlan, planar: bool = False, plain: bool = False
    ) -> None:
        """Prepare the structs of the C code. With ``planar`` the result has a plane for each channel. ``plain``
        switches off the vector code."""
        self.plan, self.planar = plan, planar
        #: The instruction set of the vector code, or "c" for scalar code; and the name of the vector code's function
        #: that unpacks pixels, or "".
        self.code, self.unpack = "c", ""
        self._run = library.ar_host_run
        self._run.restype = None
        self._host = c.HostImageStruct()
        self._struct = self._host.image
        row, column, finish = c.kernels(plan)
        finish = _finish(plan, planar) or finish
        vector = vector_of(plan) if not plain and c.vector_code(library) else None
        if vector is not None:
            self.code, row, column = c.vector_code(library), vector.row, vector.column
            if vector.finish and not planar:
                finish = vector.finish
            c.fill_vector(self._host, vector)
            self.unpack = vector.unpack
            if self.unpack:
                self._host.unpack = ctypes.cast(getattr(library, vector.unpack), ctypes.c_void_p)
        #: The names of the functions in the struct.
        self.names = {"row": row, "column": column, "finish": finish}
        for field, name in self.names.items():
            setattr(self._struct, field, ctypes.cast(getattr(library, name), ctypes.c_void_p))
        pixel = input_values.ELEMENT_BYTES[plan.dtype] * (1 if planar else plan.channels)
        self._host.row_bytes = plan.canvas[0] * pixel
        #: The arrays that the struct points to.
        self.tables = [] if plan.table is None else [plan.table]
        self.tables += vector.tables.values() if vector is not None else []
        for field, axis in (("across", plan.across), ("down", plan.down)):
            start, weights = axis.start.astype(np.uint16), np.ascontiguousarray(axis.weights)
            self.tables += [start, weights]
            member = getattr(self._struct, field)
            member.start, member.weights = c.address(start), c.address(weights)
            member.outputs, member.taps = axis.outputs, axis.taps
        self._struct.table = c.address(plan.table)
        c.fill(self._struct, c.image_fields(plan))
        c.fill(self._struct.affine, c.affine_fields(plan.affine, plan.dtype))
        self._scratch = np.empty(c.image_scratch(plan) // 4 + 1, np.uint32)
        self.scratch_bytes = self._scratch.nbytes
        if vector is not None and "stretch" in vector.tables:
            self.scratch_bytes += vector.tables["stretch"].nbytes
        self._planes = planes_of(plan.format, plan.width, plan.height)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the result: (height, width, channels), or (channels, height, width) with ``planar``."""
        (width, height), channels = self.plan.canvas, self.plan.channels
        return (channels, height, width) if self.planar else (height, width, channels)

    def bound(self, address: int) -> tuple[c.PictureStruct, Callable[..., None], tuple[object, ...]]:
        """Return (picture, function, arguments). The caller sets the planes and strides of the picture, and calls the
        function, which writes the tensor at ``address``. All are valid as long as this object exists."""
        picture = c.PictureStruct()
        places = (ctypes.c_void_p(address), ctypes.c_void_p(self._scratch.ctypes.data))
        return picture, self._run, (ctypes.byref(self._host), ctypes.byref(picture), *places)

    def run(self, data: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the result for ``data``, a uint8 buffer without gaps between its rows. The result is written to
        ``out`` if that is given. ``out`` must be contiguous and have ``shape`` and the plan's type. Raises
        ``UsageError`` if the buffer has another size."""
        plan = self.plan
        data = np.ascontiguousarray(data, np.uint8)
        if data.size != buffer_bytes(plan.format, plan.width, plan.height):
            raise record_error(
                f"The picture has {data.size:,} bytes, not {plan.width}x{plan.height} pixels of {plan.format}."
            )
        if out is None:
            out = np.empty(self.shape, plan.dtype)
        picture, call, arguments = self.bound(out.ctypes.data)
        at = data.ctypes.data
        for k, (row, rows) in enumerate(self._planes):
            picture.plane[k], picture.stride[k] = at, row
            at += row * rows
        call(*arguments)
        return out


def _finish(plan: ImagePlan, planar: bool) -> str:
    """Return the name of the host's kernel for the last step, or "" if the portable kernel is as fast."""
    if planar:
        return "ar_finish_planar"
    if _is_shift(plan):
        return "ar_finish_shift"
    repeated = plan.table is not None and (plan.working_channels, plan.channels) == (1, 3)
    return "ar_finish_repeated" if repeated else ""


def _is_shift(plan: ImagePlan) -> bool:
    """Return whether the table adds the same number to each byte, modulo 256. Usually this number is 0, or 128 for
    int8."""
    table = plan.table
    if table is None or table.itemsize != 1 or plan.late_grey or plan.working_channels != plan.channels:
        return False
    bytes_ = table.view(np.uint8)
    return bool((bytes_ - bytes_[0, 0] == np.arange(256, dtype=np.uint8)).all())


class AudioFront:
    """The struct ``ar_audio`` or ``ar_micro`` of a plan, and its scratch memory. ``struct`` and ``scratch`` are valid
    as long as this object exists."""

    struct: ctypes.Structure

    def __init__(self, plan: AudioPlan | MicroPlan) -> None:
        from arenite.converters.processing.audio.micro_plan import MicroPlan

        self.is_micro = isinstance(plan, MicroPlan)
        if isinstance(plan, MicroPlan):
            self.struct = c.MicroStruct()
            self._tables, fields, scratch = c.micro_tables(plan), c.micro_fields(plan), c.micro_scratch(plan)
            c.fill(self.struct.noise, plan.noise.fields())
        else:
            self.struct = c.AudioStruct()
            self._tables, fields, scratch = c.audio_tables(plan), c.audio_fields(plan), c.audio_scratch(plan)
        for field, table in self._tables.items():
            setattr(self.struct, field, c.address(table))
        c.fill(self.struct, fields)
        c.fill(self.struct.affine, c.affine_fields(plan.affine, plan.dtype))
        self.scratch = np.empty(scratch // 8 + 1, np.uint64)


class CompiledAudio:
    """Runs the plan of a sound front end with the C code."""

    def __init__(self, library: ctypes.CDLL, plan: AudioPlan | MicroPlan) -> None:
        self.plan = plan
        self._front = AudioFront(plan)
        self._run = library.ar_micro_run if self._front.is_micro else library.ar_audio_run

    def run(self, samples: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Convert int16 samples to the model's input [frames, features]. It is written to ``out`` if that is given."""
        samples = np.ascontiguousarray(samples, np.int16).reshape(-1)
        if out is None:
            out = np.empty((self.plan.frames, self.plan.features), self.plan.dtype)
        self._run(
            ctypes.byref(self._front.struct),
            ctypes.c_void_p(samples.ctypes.data),
            ctypes.c_uint32(len(samples)),
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_void_p(self._front.scratch.ctypes.data),
        )
        return out
