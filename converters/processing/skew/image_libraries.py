"""Run the picture steps in the libraries that training pipelines use."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from arenite.converters.processing.image.reference import PictureState, crop_box, letterbox_box, resized_size
from arenite.converters.processing.skew.framework_processes import Frameworks
from arenite.converters.processing.specification.image_steps import Colour, Crop, Letterbox, Resize
from arenite.converters.processing.specification.input_values import FRACTION_BITS
from arenite.converters.tflite.litert import single_operator

#: The largest difference in levels (0 to 255) that counts as rounding. A rounded pixel may differ by one level
#: between versions of a library.
LEVEL = 1.0
#: The largest difference in levels that counts as rounding, for a result that is not rounded to bytes.
FRACTION = 0.01


def levels_of(picture: PictureState) -> np.ndarray:
    """Return the pixels as float64 levels from 0 to 255."""
    return picture.pixels / (1 << FRACTION_BITS) if picture.fraction else picture.pixels.astype(np.float64)


def expected(
    step: object, before: PictureState, frameworks: Frameworks
) -> tuple[np.ndarray, str, float] | str:
    """Run ``step`` on ``before`` in the library of its convention.

    Return the result as levels, the library's name and version, and the largest difference that counts as rounding.
    If no library can run the step, return the reason.
    """
    if isinstance(step, Colour):
        return _colour(step, before)
    if isinstance(step, Crop):
        x, y, w, h = crop_box(step, *before.size)
        return levels_of(before)[y : y + h, x : x + w], f"NumPy {np.__version__}", 0.0
    if isinstance(step, Resize):
        return _resize(before, *resized_size(step, *before.size), step.method, step.convention, frameworks)
    assert isinstance(step, Letterbox)
    x, y, w, h = letterbox_box(step, *before.size)
    inner = _resize(before, w, h, step.method, step.convention, frameworks)
    if isinstance(inner, str):
        return inner
    canvas = np.empty((step.height, step.width, before.pixels.shape[2]))
    canvas[:] = step.fill
    canvas[y : y + h, x : x + w] = inner[0]
    return canvas, *inner[1:]


def _pil(pixels: np.ndarray):  # type: ignore[no-untyped-def]
    """Return ``pixels`` [height, width, channels] as a picture of Pillow."""
    from PIL import Image

    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else np.ascontiguousarray(pixels))


def _channels(pixels: np.ndarray) -> np.ndarray:
    """Return pixels as [height, width, channels]. Libraries leave out a single channel."""
    return pixels if pixels.ndim == 3 else pixels[:, :, np.newaxis]


def _colour(step: Colour, before: PictureState) -> tuple[np.ndarray, str, float] | str:
    pixels = before.pixels
    if before.fraction or step.to == before.order:
        return "only changes channels"
    if step.convention == "opencv":
        try:
            import cv2
        except ImportError:
            return "needs OpenCV: pip install 'arenite[skew]'"
        names = {"rgb": "RGB", "bgr": "BGR", "grey": "GRAY"}
        code = getattr(cv2, f"COLOR_{names[before.order]}2{names[step.to]}")
        library_result = cv2.cvtColor(np.ascontiguousarray(pixels), code)
        return _channels(np.asarray(library_result)).astype(np.float64), f"OpenCV {cv2.__version__}", LEVEL
    try:
        rgb = _pil(pixels[:, :, ::-1] if before.order == "bgr" else pixels)
    except ImportError:
        return "needs Pillow: pip install 'arenite[skew]'"
    library_result = _channels(np.asarray(rgb.convert("L" if step.to == "grey" else "RGB")))
    library_result = library_result[:, :, ::-1] if step.to == "bgr" else library_result
    return library_result.astype(np.float64), f"Pillow {version('pillow')}", LEVEL


def _resize(
    before: PictureState, width: int, height: int, method: str, convention: str, frameworks: Frameworks
) -> tuple[np.ndarray, str, float] | str:
    if convention == "opencv":
        try:
            import cv2
        except ImportError:
            return "needs OpenCV: pip install 'arenite[skew]'"
        filter = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA}[method]
        pixels = np.ascontiguousarray(before.pixels)
        library_result = cv2.resize(pixels, (width, height), interpolation=filter)
        return _channels(np.asarray(library_result)).astype(np.float64), f"OpenCV {cv2.__version__}", LEVEL
    if convention == "pil":
        try:
            from PIL import Image
        except ImportError:
            return "needs Pillow: pip install 'arenite[skew]'"
        resampling = Image.Resampling
        filters = {"nearest": resampling.NEAREST, "bilinear": resampling.BILINEAR, "area": resampling.BOX}
        library_result = np.asarray(_pil(before.pixels).resize((width, height), filters[method]))
        return _channels(library_result).astype(np.float64), f"Pillow {version('pillow')}", LEVEL
    values = before.pixels.astype(np.float32)
    if convention == "torch" or method == "area":
        framework = "torch" if convention == "torch" else "tensorflow"
        if not frameworks.available(framework):
            return f"needs {framework}, which `arenite skew --install` downloads"
        job = {"op": "resize", "width": width, "height": height, "method": method}
        library_result, name = frameworks.run(framework, job, values)
        return library_result.astype(np.float64), name, FRACTION
    library_result = single_operator.run_resize(values, width, height, method, convention)
    return library_result.astype(np.float64), f"LiteRT {version('ai-edge-litert')}", FRACTION
