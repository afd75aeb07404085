"""Plans run by the C library."""

from __future__ import annotations

import ctypes

import numpy as np

from arenite.converters.processing import native_structs as c
from arenite.converters.processing.audio_plan import AudioPlan
from arenite.converters.processing.colour import PIXEL_BYTES, buffer_bytes
from arenite.converters.processing.fields import bad
from arenite.converters.processing.image_plan import ImagePlan


class CompiledImage:
    """A picture's plan as the C code takes it. ``run`` writes into memory that the caller gives, in one
    pass; not for two threads at once, since its scratch memory is one."""

    def __init__(self, library: ctypes.CDLL, plan: ImagePlan) -> None:
        self.plan = plan
        self._run = library.ar_image_run
        self._struct = c.Image()
        for field, name in zip(("row", "column", "finish"), c.kernels(plan), strict=True):
            setattr(self._struct, field, ctypes.cast(getattr(library, name), ctypes.c_void_p))
        self._kept = [plan.table]
        for field, axis in (("across", plan.across), ("down", plan.down)):
            start, weights = axis.start.astype(np.uint16), np.ascontiguousarray(axis.weights)
            self._kept += [start, weights]
            place = getattr(self._struct, field)
            place.start, place.weights = c.address(start), c.address(weights)
            place.outputs, place.taps = axis.outputs, axis.taps
        self._struct.table = c.address(plan.table)
        c.fill(self._struct, c.image_fields(plan))
        c.fill(self._struct.affine, c.affine_fields(plan.affine, plan.dtype))
        self._scratch = np.empty(c.image_scratch(plan) // 4 + 1, np.uint32)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the result: height, width, channels."""
        return self.plan.canvas[1], self.plan.canvas[0], self.plan.channels

    def run(self, data: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """``data``: the whole buffer, uint8 without gaps. ``out``: contiguous, of ``shape`` and the plan's type."""
        plan = self.plan
        data = np.ascontiguousarray(data, np.uint8)
        if data.size != buffer_bytes(plan.format, plan.width, plan.height):
            raise bad(
                f"The picture has {data.size:,} bytes, not {plan.width}x{plan.height} pixels of {plan.format}."
            )
        if out is None:
            out = np.empty(self.shape, plan.dtype)
        picture = c.Picture()
        picture.plane[0] = data.ctypes.data
        picture.stride[0] = plan.width * PIXEL_BYTES.get(plan.format, 1)
        if plan.format == "nv12":
            picture.plane[1], picture.stride[1] = data.ctypes.data + plan.width * plan.height, plan.width
        self._run(
            ctypes.byref(self._struct),
            ctypes.byref(picture),
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_void_p(self._scratch.ctypes.data),
        )
        return out


class CompiledAudio:
    """A sound's plan as the C code takes it."""

    def __init__(self, library: ctypes.CDLL, plan: AudioPlan) -> None:
        self.plan = plan
        self._run = library.ar_audio_run
        self._struct = c.Audio()
        self._kept = c.audio_tables(plan)
        for field, table in self._kept.items():
            setattr(self._struct, field, c.address(table))
        c.fill(self._struct, c.audio_fields(plan))
        c.fill(self._struct.affine, c.affine_fields(plan.affine, plan.dtype))
        self._scratch = np.empty(c.audio_scratch(plan) // 8 + 1, np.uint64)

    def run(self, samples: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """``samples``: int16. Returns [frames, features]."""
        samples = np.ascontiguousarray(samples, np.int16).reshape(-1)
        if out is None:
            out = np.empty((self.plan.frames, self.plan.features), self.plan.dtype)
        self._run(
            ctypes.byref(self._struct),
            ctypes.c_void_p(samples.ctypes.data),
            ctypes.c_uint32(len(samples)),
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_void_p(self._scratch.ctypes.data),
        )
        return out
