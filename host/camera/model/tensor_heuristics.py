"""Guess preprocessing and postprocessing from a model's tensors, for models that do not record them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE
from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import TopK
from arenite.converters.processing.specification.image_steps import (
    Colour,
    Crop,
    ImageSource,
    Letterbox,
    Resize,
)
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError
from arenite.host.camera.answers.default_postprocessing import default_postprocessing

#: The usual ranges of a model's input, the step that converts pixels to each range, and the name of the range.
_RANGES = (
    ((0.0, 1.0), Normalize(255.0), "0 to 1"),
    ((-1.0, 1.0), Normalize(127.5, (1.0,)), "-1 to 1"),
    ((0.0, 255.0), Normalize(), "0 to 255"),
    ((-128.0, 127.0), Normalize(1.0, (128.0,)), "-128 to 127"),
)


def usable_input(tensor: Tensor, notes: list[str]) -> Tensor:
    """Return ``tensor``. If it is uint8 without a quantization, add the quantization with scale 1 and zero point 0, and
    a sentence to ``notes``."""
    if tensor.dtype != "uint8" or tensor.quant is not None:
        return tensor
    notes.append(f"The input '{tensor.name}' has no quantization: its bytes are taken as pixel values.")
    return replace(tensor, quant=Quantization((1.0,), (0,)))


def sides(tensor: Tensor) -> tuple[int, int, int]:
    """Return (height, width, channels) of an input that takes a picture. The tensor may have channels last or first.
    Height and width are 1 for an input of any size. Raises ``UsageError`` if the shape is not that of a picture."""
    shape = tensor.shape[1:] if len(tensor.shape) == 4 and tensor.shape[0] == 1 else tensor.shape
    if len(shape) == 2 and min(shape) > 1:
        shape = (*shape, 1)
    if shape == (3, 1, 1):
        return 1, 1, 3  # channels first, and of any size
    if len(shape) == 3 and shape[2] in (1, 3):
        return shape[0], shape[1], shape[2]
    if len(shape) == 3 and shape[0] in (1, 3):
        return shape[1], shape[2], shape[0]
    shape_text = "x".join(map(str, tensor.shape))
    raise UsageError(
        f"The input '{tensor.name}' has the shape {shape_text}, which is not that of a picture: expected "
        "1 x height x width x 3 (or 1), or with channels first.",
        "Give a model that takes a picture, or its steps with --preprocessing.",
    )


def guess_normalization(tensor: Tensor, notes: list[str]) -> Normalize:
    """Return the normalization whose range is nearest to the range of values that the input can represent; for float32,
    the normalization to the range 0 to 1. Add a sentence about the choice to ``notes``."""
    if tensor.quant is None or tensor.quant.per_axis or tensor.dtype not in INTEGER_RANGE:
        notes.append("The model does not record how pixels become its input: 0 to 1 is assumed.")
        return _RANGES[0][1]
    low, high = ((q - tensor.zero_point) * tensor.scale for q in INTEGER_RANGE[tensor.dtype])

    def distance(limits: tuple[float, float]) -> float:
        a, b = limits
        return (abs(low - a) + abs(high - b)) / max(b - a, high - low)

    _, step, name = min(_RANGES, key=lambda candidate: distance(candidate[0]))
    notes.append(
        f"The model does not record how pixels become its input: its quantization, {low:.4g} to {high:.4g}, "
        f"suggests {name}."
    )
    return step


def preprocessing(tensor: Tensor, step: Normalize, known: Preprocessing | None = None) -> Preprocessing:
    """Return preprocessing that ends with ``step``. The steps before it are the steps of ``known`` without its
    normalization. If ``known`` is None, they resize the whole picture to the size of the input. Raises
    ``UsageError``."""
    if known is not None:
        others = [other for other in known.real.steps if not isinstance(other, Normalize)]
        return Preprocessing(known.source, (*others, step))
    height, width, channels = sides(tensor)
    if (height, width) == (1, 1):
        raise UsageError(
            f"The input '{tensor.name}' takes pictures of any size.",
            "Give the size in the steps of --preprocessing.",
        )
    resize = Resize(width, height, method="bilinear", convention="opencv")
    grey = (Colour("grey", "opencv"),) if channels == 1 else ()
    return Preprocessing(ImageSource(), (*grey, resize, step))


def postprocessing(
    outputs: Sequence[Tensor], detections: tuple[int, ...], labels: int, notes: list[str]
) -> Postprocessing | None:
    """Guess the postprocessing from the outputs, and add a sentence about the guess to ``notes``.

    ``detections`` is ``ModelHeader.detections``, and ``labels`` is the number of labels. Return None if the outputs fit
    no step.
    """
    if detections:
        from arenite.converters.processing.post.detector_steps import Detections

        boxes, classes, scores, count = detections
        return Postprocessing((Detections(boxes, classes, scores, count),))
    shape = outputs[0].shape
    if len(outputs) == 1 and len(shape) == 4 and min(shape[1:3]) > 1 < shape[3] == labels:
        from arenite.converters.processing.post.landmark_mask_steps import Mask

        notes.append(
            "The output has as many channels as there are labels: they are taken as classes of pixels."
        )
        return Postprocessing((Mask(),))
    default = default_postprocessing(outputs)
    assumption = "the values of the first one are shown as they are"
    if default is not None:
        best = default.steps[0]
        assert isinstance(best, TopK)
        assumption = f"the best {best.k} of its values are taken as classes"
        assumption += ", by their softmax" if best.softmax else ""
    notes.append(f"The model does not record what its outputs mean: {assumption}.")
    return default


def check_size(spec: Preprocessing, tensor: Tensor) -> None:
    """Raise ``UsageError`` if the preprocessing ``spec`` produces pictures of another size than the input takes."""
    height, width, _ = sides(tensor)
    if (height, width) == (1, 1):
        return  # the input takes any size
    for step in reversed(spec.steps):
        if isinstance(step, (Resize, Letterbox, Crop)):
            if step.width and (step.width, step.height) != (width, height):
                raise UsageError(
                    f"Preprocessing produces a picture of {step.width}x{step.height}, but the model's input "
                    f"'{tensor.name}' takes {width}x{height}.",
                    "Change the size in the preprocessing's steps.",
                )
            return


def input_with_size(tensor: Tensor, spec: Preprocessing) -> Tensor:
    """Return ``tensor``, an input that takes any size, with the size that the preprocessing ``spec`` produces. Return
    ``tensor`` unchanged if no step has a size."""
    for step in reversed(spec.steps):
        if isinstance(step, (Resize, Letterbox, Crop)) and step.width:
            channels = sides(tensor)[2]
            channels_first = tensor.shape[-3:] == (channels, 1, 1)
            side = (step.height, step.width)
            shape = (1, channels, *side) if channels_first else (1, *side, channels)
            return replace(tensor, shape=shape)
    return tensor
