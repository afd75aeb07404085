"""Convert the option ``--pixels`` to preprocessing steps, when the shape of the model's input is known."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model
from arenite.converters.processing.specification.pixel_ranges import pixel_preprocessing
from arenite.host.conversion.request import ConversionRequest


def add_pixel_preprocessing(request: ConversionRequest, model: Model) -> tuple[ConversionRequest, list[str]]:
    """Return ``request`` with the preprocessing that its field ``pixels`` means for the first input of ``model``, and a
    note that says what was assumed. Without ``pixels``, return ``request`` unchanged and no note.

    Raises ``UsageError`` if the input is no picture.
    """
    if request.pixels is None or request.attachments.preprocessing is not None:
        return request, []
    tensor = model.main.tensors[model.main.inputs[0]]
    spec = pixel_preprocessing(request.pixels, tensor)
    _, height, width, channels = tensor.shape
    note = (
        f"--pixels {request.pixels}: pictures are resized to {width}x{height} with Pillow's bilinear filter"
        f"{' and converted to grey' if channels == 1 else ''}. If training prepared them in another way, describe it "
        "with --preprocessing (see docs/processing.md)."
    )
    return replace(request, attachments=replace(request.attachments, preprocessing=spec)), [note]
