"""Compute results that must be the same on this computer and on aarch64. The program runs once on each.

    python guest_checks.py OUT.npz FRAMES.npz [MODEL.tflite ...]

The program preprocesses frames in every pixel format, with every method to resize, into each type of tensor. It also
runs the frames through the preprocessing, inference and postprocessing of each model. With ARENITE_PROCESSING=numpy,
NumPy computes the preprocessing. The program does not import other test modules.
"""

from __future__ import annotations

import json
import platform
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.processing.specification.image_steps import (
    FORMATS,
    PAIRS,
    Colour,
    ImageSource,
    Letterbox,
    Resize,
)
from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.runtimes.base import TensorMemory
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.model_server import ModelServer

#: Width and height of the frames, one larger and one smaller than the model's input ``_INPUT``. No width is a multiple
#: of the number of elements in a NEON vector.
_FRAMES = ((94, 70), (34, 26))
_INPUT = (45, 33)
#: Type, scale and zero point of the input tensor.
_TENSORS = (("float32", 0.0, 0), ("int8", 1 / 64, -3), ("uint8", 1 / 128, 100))
_GAP = 6  # unused bytes after each row


def buffers(pixels: str, width: int, height: int, seed: int) -> tuple[Format, tuple[np.ndarray, ...]]:
    """Return the format and the planes of a frame of random bytes, with a gap after each row."""
    rng = np.random.default_rng(seed)
    planes = [
        rng.integers(0, 256, (rows, row + _GAP), np.uint8) for row, rows in planes_of(pixels, width, height)
    ]
    return Format(pixels, width, height, tuple(plane.shape[1] for plane in planes)), tuple(planes)


def specs() -> Iterator[tuple[str, Preprocessing, int]]:
    """Yield the preprocessings to test: name, steps, and number of channels of the result."""
    width, height = _INPUT
    for convention, methods in PAIRS.items():
        for method in methods:
            name = f"{convention}-{method}"
            resize = Resize(width, height, method=method, convention=convention)
            letterbox = Letterbox(width, height, (16, 128, 240), method, convention)
            normalize = Normalize(127.5, (0.9, 1.0, 1.1), (1.0, 0.5, 2.0))
            yield name, Preprocessing(ImageSource(), (resize, normalize)), 3
            yield f"{name}-letterbox", Preprocessing(ImageSource(), (letterbox, normalize)), 3
            # The conversion to grey comes before the resize, because it is not supported after a resize whose
            # results are not rounded to integers.
            grey = (Colour("grey"), resize, Normalize(255.0, (0.5,), (0.25,)))
            yield f"{name}-grey", Preprocessing(ImageSource(), grey), 1


def feeds() -> Iterator[tuple[str, np.ndarray, str]]:
    """Run each preprocessing on each frame. Yield the name of the case, the bytes of the input tensor, and the name of
    the code that computed them."""
    for spec_name, spec, channels in specs():
        for pixels in FORMATS:
            for width, height in _FRAMES:
                for dtype, scale, zero in _TENSORS:
                    name = f"{spec_name}-{pixels}-{width}-{dtype}"
                    # The window is tested with one type of tensor only.
                    window = CropWindow(3, 5, width - 9, height - 7) if dtype == "uint8" else None
                    try:
                        yield (
                            name,
                            *_feed(name, spec, channels, pixels, width, height, dtype, scale, zero, window),
                        )
                    except UsageError as error:  # unsupported steps are rejected in the same way everywhere
                        yield name, np.zeros(0, np.uint8), f"refused: {error}"


def _feed(
    name: str, spec: Preprocessing, channels: int, pixels: str, width: int, height: int,
    dtype: str, scale: float, zero: int, window: CropWindow | None,
) -> tuple[np.ndarray, str]:  # fmt: skip
    """Preprocess one frame of random bytes. Return the bytes of the input tensor, and the name of the code that ran."""
    format, planes = buffers(pixels, width, height, zlib.crc32(name.encode()))
    out = np.zeros((1, _INPUT[1], _INPUT[0], channels), dtype)
    memory = TensorMemory("input", out.shape, dtype, out.ctypes.data, out.nbytes, scale, zero)
    feed = FramePreprocessor(spec, format, memory, window)
    feed.run(Frame(format, tuple(plane.ctypes.data for plane in planes), planes, 0, 0))
    return out.reshape(-1).view(np.uint8), feed.code


def answers(
    path: Path, frames: np.ndarray
) -> tuple[list[list[np.ndarray]], list[np.ndarray], list[Any], str]:
    """Run the model on ``frames``. Return three lists with an item per frame (output tensors, input tensor, answer as
    JSON), and the name of the runtime."""
    model = open_model(str(path))
    runtime = open_runtime(model.path, "litert-cpu", threads=1)
    server = ModelServer(model, runtime)
    height, width = frames.shape[1], frames.shape[2] // 2
    format = Format("yuyv", width, height, (2 * width,))
    outputs, inputs, json_answers = [], [], []
    for number, frame in enumerate(frames):
        served = server.serve(Frame(format, (frame.ctypes.data,), frame, number, 0))
        inputs.append(np.array(runtime.slots[0].inputs[0].array()))
        outputs.append([np.array(memory.array()) for memory in runtime.slots[0].outputs])
        json_answers.append(served.answer.to_json() if served.answer is not None else None)
    name = runtime.name
    server.close()
    return outputs, inputs, json_answers, name


def main() -> None:
    out, frames, models = Path(sys.argv[1]), np.load(sys.argv[2])["frames"], [Path(p) for p in sys.argv[3:]]
    arrays: dict[str, np.ndarray] = {}
    codes: dict[str, int] = {}
    for name, values, code in feeds():
        arrays[f"feed/{name}"] = values
        codes[code] = codes.get(code, 0) + 1
    record: dict[str, Any] = {
        "machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__, "codes": codes,
    }  # fmt: skip
    for path in models:
        outputs, inputs, json_answers, runtime = answers(path, frames)
        record[f"answers/{path.stem}"], record[f"runtime/{path.stem}"] = json_answers, runtime
        arrays[f"input/{path.stem}"] = np.stack(inputs)
        for k in range(len(outputs[0])):
            arrays[f"output/{path.stem}/{k}"] = np.stack([each[k] for each in outputs])
    arrays["record"] = np.frombuffer(json.dumps(record).encode(), np.uint8)
    np.savez(out, **arrays)  # type: ignore[arg-type]  # the stub's other keyword is not an array


if __name__ == "__main__":
    main()
