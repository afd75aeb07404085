"""Adapt a model's recorded preprocessing steps to a camera's format and to a tensor, before the first frame."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.processing.image.plan import ImagePlan
from arenite.converters.processing.specification.image_steps import FORMATS, Colour, Crop, ImageSource
from arenite.converters.processing.specification.pixel_formats import color_order, planes_of
from arenite.converters.processing.specification.preprocessing import Preprocessing, Quantize
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Format
from arenite.host.camera.runtimes.base import TensorMemory

INTEGER_TYPES = ("int8", "uint8", "int16")


def steps_for_frame(
    spec: Preprocessing, format: Format, memory: TensorMemory, window: CropWindow | None
) -> Preprocessing:
    """Return the steps that convert a frame of ``format`` to the tensor ``memory``: crop to ``window``, convert to the
    order of colors that was used in training, run the steps of ``spec``, and quantize for the tensor. Raises
    ``UsageError``."""
    source = spec.source
    if not isinstance(source, ImageSource):
        raise UsageError(
            f"The model's preprocessing takes {source.kind}, not pictures.",
            "Give a model that takes pictures, or its preprocessing with --preprocessing.",
        )
    if format.pixels not in FORMATS:
        raise UsageError(
            f"The frames have the pixel format '{format.pixels}', which is not one of {', '.join(FORMATS)}.",
            "Decode compressed pictures in the source.",
        )
    camera_source = replace(source, format=format.pixels, width=format.width, height=format.height)
    steps = list(spec.real.steps)
    order = color_order(source.format)
    if order != color_order(format.pixels):
        steps.insert(0, Colour(order))
    if window is not None:
        _check_window(window, format)
        steps.insert(0, Crop(window.width, window.height, window.left, window.top))
    quantize_step = _quantize_step(spec, memory)
    if quantize_step is not None:
        steps.append(quantize_step)
    return Preprocessing(camera_source, tuple(steps))


def _check_window(window: CropWindow, format: Format) -> None:
    right, bottom = window.left + window.width, window.top + window.height
    if (
        min(window.left, window.top) < 0
        or min(window.width, window.height) < 1
        or right > format.width
        or bottom > format.height
    ):
        raise UsageError(
            f"The window of {window.width}x{window.height} pixels at {window.left}, {window.top} is not inside frames "
            f"of {format.width}x{format.height} pixels.",
            "Give left, top, width and height in pixels of the frame.",
        )


def _quantize_step(spec: Preprocessing, memory: TensorMemory) -> Quantize | None:
    """Return the step that quantizes for ``memory``; None for float32. For an integer tensor
    without a scale, return the quantize step of ``spec``. Raises ``UsageError``."""
    if memory.dtype == "float32":
        return None
    if memory.dtype in INTEGER_TYPES:
        if memory.scale > 0:
            return Quantize(memory.dtype, memory.scale, memory.zero_point)
        if spec.quantize_step is not None and spec.quantize_step.dtype == memory.dtype:
            return spec.quantize_step
        raise UsageError(
            f"The model's input '{memory.name}' is {memory.dtype}, but has neither scale nor zero point.",
            "Record a quantise step in the model's preprocessing.",
        )
    raise UsageError(
        f"The model's input '{memory.name}' is {memory.dtype}, which is not supported for pictures.",
        "Use a model whose input is float32, or int8, uint8 or int16 quantized per tensor.",
    )


def is_planar(plan: ImagePlan, memory: TensorMemory) -> bool:
    """Return True if the tensor has channels first (a plane per channel), False if it has channels last.

    Raises ``UsageError`` if the result of ``plan`` does not have the shape of the tensor.
    """
    (width, height), channels = plan.canvas, plan.channels
    shape = tuple(memory.shape)
    channels_last, channels_first = (height, width, channels), (channels, height, width)
    if shape in (channels_last, (1, *channels_last)) or (channels == 1 and shape == (height, width)):
        return False
    if shape in (channels_first, (1, *channels_first)):
        return True
    shape_text = "x".join(map(str, shape))
    batches = shape[0] if len(shape) == 4 else 1
    if len(shape) not in (3, 4) or batches != 1 or not {shape[-3], shape[-1]} & {1, 3}:
        raise UsageError(
            f"The model's input '{memory.name}' has the shape {shape_text}, which is not that of a picture.",
            "Use a model whose input is [1, height, width, channels] or [1, channels, height, width], with 1 or 3 "
            "channels.",
        )
    raise UsageError(
        f"Preprocessing turns frames of {plan.width}x{plan.height} pixels into {height}x{width}x{channels} values, but "
        f"the model's input '{memory.name}' has the shape {shape_text}.",
        "Add a resize or letterbox step to the input's size, or a colour step, to the model's preprocessing.",
    )


def strides_of(format: Format) -> tuple[int, ...]:
    """Return the number of bytes from one row to the next, for each plane. If ``format`` has only the stride of luma,
    the strides of the chroma planes are computed from it.

    Raises ``UsageError`` if rows overlap, or if the number of strides is not 1 or the number of planes.
    """
    planes = planes_of(format.pixels, format.width, format.height)
    strides = tuple(format.strides)
    if len(strides) == 1 < len(planes):
        strides += (strides[0] // (len(planes) - 1),) * (len(planes) - 1)
    if len(strides) != len(planes):
        raise UsageError(
            f"Frames of format '{format.pixels}' have {len(planes)} planes, but {len(strides)} strides were given.",
            "Give one stride per plane.",
        )
    for stride, (row, _) in zip(strides, planes, strict=True):
        if not row <= stride < 1 << 31:
            raise UsageError(
                f"A row of {format.width} pixels of format '{format.pixels}' has at least {row} bytes, but the stride "
                f"is {stride}.",
                "Give the stride that the driver reports (bytesperline).",
            )
    return strides
