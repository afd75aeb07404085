"""Random frames and preprocessing steps for tests of ``FramePreprocessor``.

Run as a program, this module tests with planes that begin or end at an unreadable page of memory, so an access to a
byte beside a plane is a segmentation fault.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.image_steps import FORMATS, PAIRS
from arenite.converters.processing.specification.pixel_formats import (
    SUBSAMPLED,
    color_order,
    planes_of,
    to_grey,
    unpack,
)
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.runtimes.base import TensorMemory

#: Scale and zero point of the tensor for each type. A scale of 0 means that the tensor is not quantized.
SCALES = {"float32": (0.0, 0), "int8": (0.5, -3), "uint8": (1.0, 0), "int16": (0.01, 7)}
#: The number of bytes before and after the tensor that must not change.
GUARD = 64


@dataclass
class Case:
    """A frame format and a tensor of type ``dtype``, with the preprocessing steps ``spec`` from one to the other.
    ``window`` is the part of the frame that is used; None means the frame. A ``planar`` tensor has the order channels,
    height, width."""

    spec: Preprocessing
    format: Format
    window: CropWindow | None
    dtype: str
    planar: bool
    size: tuple[int, int, int]  # height, width and channels of the tensor
    together: bool  # the chroma planes follow the luma plane in one buffer


def random_case(rng: np.random.Generator) -> Case:
    """Return a random case: any pixel format, size, crop window, resize method and type of tensor."""
    pixels = str(rng.choice(FORMATS))
    width, height = (2 * int(rng.integers(1, 60)) for _ in range(2))
    if pixels not in SUBSAMPLED:
        width, height = max(width - int(rng.integers(2)), 1), max(height - int(rng.integers(2)), 1)
    planes = planes_of(pixels, width, height)
    # Each row may be followed by a gap.
    gap = int(rng.integers(0, 9))
    strides = [row + gap // (1 if k == 0 else len(planes) - 1) for k, (row, _) in enumerate(planes)]
    together = len(planes) > 1 and bool(rng.integers(2))
    if together:
        strides[0] += strides[0] % 2
        strides = strides[:1]
    elif len(planes) > 1 and rng.integers(2):
        strides = [row + int(rng.integers(0, 70)) for row, _ in planes]
    window = None
    input_size = (width, height)
    if rng.integers(2):
        left, top = int(rng.integers(0, width)), int(rng.integers(0, height))
        input_size = (int(rng.integers(1, width - left + 1)), int(rng.integers(1, height - top + 1)))
        window = CropWindow(left, top, *input_size)
    trained = str(rng.choice(["rgb", "bgr", "grey"]))
    convention = str(rng.choice(list(PAIRS)))
    method = str(rng.choice(PAIRS[convention]))
    max_side = min(input_size) if (convention, method) == ("opencv", "area") else 50
    output_size = int(rng.integers(1, max_side + 1)), int(rng.integers(1, max_side + 1))
    step = {"do": str(rng.choice(["resize", "letterbox"])), "width": output_size[0], "height": output_size[1]}
    steps = [
        step | {"method": method, "convention": convention},
        {"do": "normalise", "divide": 127.5, "mean": 1.0},
    ]
    if rng.integers(3) == 0:
        steps = [{"do": "normalise", "mean": 127.0, "std": 128.0}]
        output_size = input_size
    spec = Preprocessing.from_json({"source": {"kind": "image", "format": trained}, "steps": steps})
    format = Format(pixels, width, height, tuple(strides))
    size = (output_size[1], output_size[0], 1 if trained == "grey" else 3)
    # The preprocessor detects the order from the shape, so the number of channels must differ from height and width.
    planar = bool(rng.integers(2)) and size[0] != size[2] and size[1] != size[2]
    return Case(spec, format, window, str(rng.choice(list(SCALES))), planar, size, together)


def memory_for(case: Case, address: int) -> TensorMemory:
    """Return the tensor of ``case``, with its values at ``address``."""
    height, width, channels = case.size
    shape = (1, channels, height, width) if case.planar else (1, height, width, channels)
    scale, zero = SCALES[case.dtype]
    nbytes = height * width * channels * np.dtype(case.dtype).itemsize
    return TensorMemory("input", shape, case.dtype, address, nbytes, scale, zero)


def plane_sizes(case: Case) -> list[int]:
    """Return the size of each plane in bytes, up to its last pixel. If all planes are in one buffer, return only the
    size of the buffer."""
    planes = planes_of(case.format.pixels, case.format.width, case.format.height)
    strides = list(case.format.strides)
    if case.together:
        half = strides[0] // (len(planes) - 1)
        luma, chroma = strides[0] * planes[0][1], half * planes[1][1]
        return [luma + chroma * (len(planes) - 2) + half * (planes[1][1] - 1) + planes[1][0]]
    return [stride * (rows - 1) + row for stride, (row, rows) in zip(strides, planes, strict=True)]


def expected(case: Case, planes: list[np.ndarray], memory: TensorMemory) -> bytes:
    """Compute the tensor with NumPy, step by step, and return its bytes. ``planes`` are uint8 arrays with the bytes of
    each plane, including the gaps after the rows."""
    format = case.format
    sizes = planes_of(format.pixels, format.width, format.height)
    strides = list(format.strides)
    if case.together:
        strides += [strides[0] // (len(sizes) - 1)] * (len(sizes) - 1)
        starts = np.cumsum([0, *(s * rows for s, (_, rows) in zip(strides, sizes, strict=True))])
        planes = [planes[0][start:] for start in starts[:-1]]
    rows = [
        plane[y * stride : y * stride + row]
        for plane, stride, (row, count) in zip(planes, strides, sizes, strict=True)
        for y in range(count)
    ]
    pixels = unpack(np.concatenate(rows), format.pixels, format.width, format.height)
    frame_order, model_order = color_order(format.pixels), color_order(case.spec.source.format)  # type: ignore[union-attr]
    w = case.window
    if w is not None:
        pixels = pixels[w.top : w.top + w.height, w.left : w.left + w.width]
    if frame_order != model_order:
        if model_order == "grey":
            pixels = to_grey(pixels, frame_order, "pil")
        else:
            pixels = np.repeat(pixels, 3, axis=2) if frame_order == "grey" else pixels[:, :, ::-1]
    steps = case.spec.to_json()["steps"]
    if memory.dtype != "float32":
        quant = {"dtype": memory.dtype, "scale": memory.scale, "zero_point": memory.zero_point}
        steps = [*steps, {"do": "quantise", **quant}]
    record = {"source": {"kind": "image"}, "steps": steps}
    result = preprocess_image(Preprocessing.from_json(record), pixels, model_order)
    return (result.transpose(2, 0, 1) if case.planar else result).tobytes()


def check(case: Case, rng: np.random.Generator) -> str:
    """Run ``case`` on random pixels and check the tensor and the ``GUARD`` bytes before and after it. Return the name
    of the implementation that ran, such as ``neon`` or ``numpy``."""
    planes = [rng.integers(0, 256, size, np.uint8) for size in plane_sizes(case)]
    original_planes = [plane.copy() for plane in planes]
    nbytes = memory_for(case, 0).bytes
    buffer = rng.integers(0, 256, nbytes + 2 * GUARD, np.uint8)
    original_buffer = buffer.copy()
    memory = memory_for(case, buffer.ctypes.data + GUARD)
    preprocessor = FramePreprocessor(case.spec, case.format, memory, case.window)
    preprocessor.run(Frame(case.format, tuple(p.ctypes.data for p in planes), planes, 0, 0))
    assert preprocessor.bytes_written == nbytes
    assert buffer[GUARD:-GUARD].tobytes() == expected(case, planes, memory)
    assert (buffer[:GUARD] == original_buffer[:GUARD]).all() and (
        buffer[-GUARD:] == original_buffer[-GUARD:]
    ).all()
    assert all((a == b).all() for a, b in zip(planes, original_planes, strict=True))
    return preprocessor.code


class GuardedMemory:
    """Memory directly before or after a page without read and write access."""

    _libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, nbytes: int, at_end: bool) -> None:
        page = mmap.PAGESIZE
        inner = -(-nbytes // page) * page
        self._map = mmap.mmap(-1, inner + 2 * page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for guard in (base, base + page + inner):
            assert self._libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
        self.address = base + page + (inner - nbytes if at_end else 0)
        self.bytes = np.frombuffer(memoryview((ctypes.c_uint8 * nbytes).from_address(self.address)), np.uint8)


def check_guarded_memory(cases: int, seed: int) -> set[str]:
    """Run cases in which each plane and the tensor begin or end at a page without access. Return the names of the
    implementations that ran."""
    implementations = set()
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        case = random_case(rng)
        at_end = bool(rng.integers(2))
        planes = [GuardedMemory(size, at_end) for size in plane_sizes(case)]
        for plane in planes:
            plane.bytes[:] = rng.integers(0, 256, len(plane.bytes), np.uint8)
        output = GuardedMemory(memory_for(case, 0).bytes, at_end)
        memory = memory_for(case, output.address)
        preprocessor = FramePreprocessor(case.spec, case.format, memory, case.window)
        preprocessor.run(Frame(case.format, tuple(p.address for p in planes), planes, 0, 0))
        assert output.bytes.tobytes() == expected(case, [p.bytes for p in planes], memory), case
        implementations.add(preprocessor.code)
    return implementations


if __name__ == "__main__":
    print(*check_guarded_memory(int(sys.argv[1]), int(sys.argv[2])))
