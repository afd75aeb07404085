"""Preprocess a camera's buffer directly into a model's input: one call crops, resizes, converts colors and quantizes.

The steps are those that the model file records. Only the pixel format differs, because it is that of the camera.
Everything that does not change from frame to frame is prepared once. Each frame then costs a few assignments in Python
and one call into C, which releases the interpreter lock while it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_preprocessing import CompiledImage
from arenite.converters.processing.specification.pixel_formats import color_order, planes_of, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.geometry import Geometry, geometry_of
from arenite.host.camera.frames.preprocessor_plan import is_planar, steps_for_frame, strides_of
from arenite.host.camera.runtimes.base import TensorMemory


class FramePreprocessor:
    """Writes frames of one format into one tensor. Two threads must not use it at the same time, because they would
    share its scratch memory.

    Attributes:
        geometry: the part of the frame that the tensor shows.
        bytes_written: bytes that ``run`` writes into the tensor.
        scratch_bytes: bytes of scratch memory (a few rows) that ``run`` writes and reads again. 0 for ``numpy``, whose
            copies are not counted.
        code: the implementation: ``avx2``, ``neon``, ``c``, or ``numpy``.

    Args:
        spec: the steps. The pixel format of ``spec.source`` is the format that was used in training; the size of
            ``spec.source`` is ignored.
        format: the format of the frames.
        memory: the model's input; the result is quantized with its scale and zero point.
        window: the part of each frame to which the steps are applied; None for the whole frame.

    Raises:
        UsageError: the steps, the format and the tensor do not fit together.
    """

    def __init__(
        self, spec: Preprocessing, format: Format, memory: TensorMemory, window: CropWindow | None = None
    ) -> None:
        self.format, self.memory, self.window = format, memory, window
        self.spec = steps_for_frame(spec, format, memory, window)
        self._strides = strides_of(format)
        self._planes_of = planes_of(format.pixels, format.width, format.height)
        plan = plan_image(self.spec, format.pixels, format.width, format.height)
        planar = is_planar(plan, memory)
        self.geometry: Geometry = geometry_of(self.spec, format.width, format.height)
        self.bytes_written = memory.bytes
        # The offset in bytes of each plane, if all planes are in one buffer.
        self._plane_offsets = [0, 0, 0]
        for k, ((_, rows), stride) in enumerate(zip(self._planes_of, self._strides, strict=True)):
            self._plane_offsets[k + 1 :] = [self._plane_offsets[k] + rows * stride] * (2 - k)
        self._plane_count = len(self._strides)
        self._plane: Any  # the addresses of the planes: a ctypes array or a list
        self._call: Callable[..., Any]
        self._arguments: tuple[Any, ...]
        library = native.library()
        self._compiled = CompiledImage(library, plan, planar) if library is not None else None
        if self._compiled is not None:
            self.code = self._compiled.code
            self.scratch_bytes = self._compiled.scratch_bytes
            picture, self._call, self._arguments = self._compiled.bound(memory.address)
            for k, stride in enumerate(self._strides):
                picture.stride[k] = stride
            self._plane = picture.plane
        else:
            self.code = "numpy"
            self.scratch_bytes = 0
            self._plane, self._call, self._arguments = [0, 0, 0], self._reference, (planar,)

    def run(self, frame: Frame) -> None:
        """Fill the tensor from ``frame``. Raises ``UsageError`` if the frame has another format than expected."""
        if frame.format is not self.format and frame.format != self.format:
            raise UsageError(
                f"The preprocessor expects frames of {self.format}, but this frame is {frame.format}.",
                "Create another preprocessor when the camera's format changes.",
            )
        plane, planes = self._plane, frame.planes
        plane[0] = planes[0]
        if self._plane_count > 1:
            if len(planes) == 1:
                plane[1], plane[2] = planes[0] + self._plane_offsets[1], planes[0] + self._plane_offsets[2]
            elif len(planes) == self._plane_count:
                plane[1], plane[2] = planes[1], planes[-1]
            else:
                raise UsageError(
                    f"The frame has {len(planes)} planes, but {self.format.pixels} has {self._plane_count}.",
                    "Give the address of each plane, or of the buffer that holds all planes.",
                )
        self._call(*self._arguments)

    def _reference(self, planar: bool) -> None:
        """Preprocess the frame in NumPy: copy the pixels without the gaps between rows, run the steps, and copy the
        result into the tensor. ``planar`` says that the tensor has channels first."""
        import ctypes

        parts = []
        for address, stride, (row, rows) in zip(self._plane, self._strides, self._planes_of, strict=False):
            size = stride * (rows - 1) + row
            raw = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(address)), np.uint8)
            parts.append(np.lib.stride_tricks.as_strided(raw, (rows, row), (stride, 1)).reshape(-1))
        format = self.format
        pixels = unpack(np.concatenate(parts), format.pixels, format.width, format.height)
        result = preprocess_image(self.spec, pixels, color_order(format.pixels))
        tensor = self.memory.array()
        tensor[:] = (result.transpose(2, 0, 1) if planar else result).reshape(tensor.shape)
