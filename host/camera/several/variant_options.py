"""Parse the model variants of ``--ladder``: a model, which may be followed by ``@WIDTHxHEIGHT`` and by ``@RUNTIME``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from arenite.converters.processing.specification.image_steps import Letterbox, Resize
from arenite.errors import UsageError
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.model.tensor_heuristics import sides

EXAMPLE = "for example --ladder detector_160.tflite, --ladder model.tflite@160x160 or --ladder model.tflite@litert-cpu"


@dataclass(frozen=True)
class VariantSpec:
    """A model variant as the user wrote it."""

    model: str
    size: tuple[int, int] | None = None  # width and height of the input; None: the model's own size
    runtime: str | None = None

    @property
    def label(self) -> str:
        size = f"{self.size[0]}x{self.size[1]}" if self.size is not None else ""
        return " ".join(filter(None, (self.model.rsplit("/", 1)[-1], size, self.runtime or "")))


def parse_variant(text: str) -> VariantSpec:
    """Parse the value of one option ``--ladder``. Raises ``UsageError``."""
    model, *parts = text.split("@")
    size, runtime = None, None
    for part in parts:
        width_and_height = re.fullmatch(r"(\d{1,5})x(\d{1,5})", part)
        if width_and_height is not None and size is None:
            size = int(width_and_height[1]), int(width_and_height[2])
        elif part and width_and_height is None and runtime is None:
            runtime = part
        else:
            raise UsageError(f"The model variant '{text}' cannot be read at '@{part}'.", f"Give {EXAMPLE}.")
    if not model:
        raise UsageError(f"The model variant '{text}' has no model.", f"Give {EXAMPLE}.")
    return VariantSpec(model, size, runtime)


def with_input_size(model: CameraModel, size: tuple[int, int]) -> CameraModel:
    """Return ``model`` with the input size (width, height), for runtimes that can resize the input.

    Raises ``UsageError`` if the input is not a picture, or if the preprocessing has no step that resizes.
    """
    width, height = size
    first, *others = model.inputs
    if (
        len(first.shape) != 4
        or first.shape[0] != 1
        or not any(isinstance(s, Resize | Letterbox) for s in model.preprocessing.steps)
    ):
        raise UsageError(
            f"{model.name} cannot take pictures of another size.",
            "Use a model whose input is [1, height, width, channels], or with channels first, and whose preprocessing "
            "resizes.",
        )
    old_height, old_width, channels = sides(first)
    # ``sides`` accepts channels last and channels first.
    channels_last = first.shape == (1, old_height, old_width, channels)
    shape = (1, height, width, channels) if channels_last else (1, channels, height, width)
    steps = tuple(
        replace(step, width=width, height=height, short_side=0)
        if isinstance(step, Resize)
        else replace(step, width=width, height=height)
        if isinstance(step, Letterbox)
        else step
        for step in model.preprocessing.steps
    )
    return replace(
        model,
        inputs=(replace(first, shape=shape), *others),
        preprocessing=replace(model.preprocessing, steps=steps),
    )


def input_shape_option(model: CameraModel) -> str:
    """Return the value of the runtimes' option ``input``: the shape of the first input, such as 1x192x192x3."""
    return "x".join(str(side) for side in model.inputs[0].shape)
