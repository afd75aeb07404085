"""How a camera's pictures become the model's input: the recorded preprocessing, or the pixels themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.processing.image.plan import ImagePlan, plan_image, source_plan
from arenite.converters.processing.preprocess import preprocess_pixels
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.errors import UsageError
from arenite.host.build.prepare import Prepared

_HINT = "Record it: `arenite convert ... --preprocessing FILE.toml` (docs/processing.md)."


@dataclass(frozen=True)
class Pictures:
    """The pictures of a camera for one model. ``spec`` is the recorded preprocessing; None stands for pixels of 8 bits
    that are the input: uint8 as they are, int8 minus 128."""

    plan: ImagePlan
    spec: Preprocessing | None
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """The bytes of a row in the camera's format."""
        return self.plan.width * PIXEL_BYTES[self.plan.format]

    def model_input(self, frame: np.ndarray) -> np.ndarray:
        """Return the model's input for the bytes of a frame in the camera's format."""
        plan = self.plan
        if self.spec is not None:
            return preprocess_pixels(self.spec, frame, plan.format, plan.width, plan.height).reshape(
                self.shape
            )
        assert plan.table is not None
        values: np.ndarray = plan.table[0][frame]
        return values.reshape(self.shape)


def pictures_of(prepared: Prepared) -> Pictures:
    """Return the pictures that ``prepared`` takes. Raises ``UsageError`` if a camera cannot deliver its input."""
    graph = prepared.model.main
    name = prepared.path.name
    if len(graph.inputs) != 1:
        raise UsageError(
            f"{name} has {len(graph.inputs)} inputs, but a camera delivers one picture.",
            "Choose a model with one input, or call the functions of `arenite library` in your own program.",
        )
    tensor = graph.tensors[graph.inputs[0]]
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or tensor.shape[3] not in (1, 3):
        shape = "x".join(map(str, tensor.shape))
        raise UsageError(
            f"The input of {name} is {shape}, which is no picture: expected 1 x height x width x 1 or 3.",
            "Choose a model that takes one gray or color picture.",
        )
    _, height, width, channels = tensor.shape
    if KEY in prepared.extra:
        spec = Preprocessing.from_json(prepared.extra[KEY]).bound(tensor)
        if not isinstance(spec.source, ImageSource):
            raise UsageError(f"{name} records preprocessing that is not of pictures.", _HINT)
        plan = source_plan(spec, channels, width, height)
        if plan.format not in PIXEL_BYTES:
            raise UsageError(
                f"The source's format {plan.format} has several planes, which a camera cannot deliver row by row.",
                f"Set format in [preprocessing.source] to one of {', '.join(PIXEL_BYTES)}.",
            )
        return Pictures(plan, spec, tensor.shape)
    if tensor.dtype not in ("int8", "uint8"):
        raise UsageError(
            f"{name} records no preprocessing of pictures, and its input is {tensor.dtype}, not 8-bit.", _HINT
        )
    format = "grey" if channels == 1 else "rgb"
    bare = Preprocessing.from_json({"source": {"kind": "image", "format": format}, "steps": []})
    levels = np.arange(256) - (128 if tensor.dtype == "int8" else 0)
    plan = replace(
        plan_image(bare, format, width, height),
        dtype=tensor.dtype,
        table=levels.astype(tensor.dtype)[np.newaxis],
    )
    return Pictures(plan, None, tensor.shape)
