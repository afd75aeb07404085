"""Convert a trained model of any supported format to a float32 flatbuffer. A quantized flatbuffer stays unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arenite.converters.importers.agreement import Agreement
from arenite.converters.importers.imported_model import ImportedModel, ImportOptions, Inputs
from arenite.converters.importers.onnx_ml.onnx_graph import has_ml_operators
from arenite.converters.importers.source_kinds import ONNX, source_kind
from arenite.errors import UsageError

__all__ = ["Agreement", "ImportOptions", "ImportedModel", "import_source", "parse_shapes", "source_kind"]


def import_source(
    source: str, *, inputs: Inputs | None = None, options: ImportOptions | None = None
) -> ImportedModel:
    """Read or convert ``source``, a path or ``module:function``, and compare the result with the source.

    ``ImportedModel.agreement`` compares both on random samples and on ``inputs``, for example calibration samples.

    Raises:
        UsageError: the source is missing or of an unknown kind, or needs a setting of ``options``.
        ModelError: the file is damaged, or its framework or TensorFlow Lite refuses the model.
        ToolError: the framework's environment could not be created, or its process failed.
    """
    options = options or ImportOptions()
    kind = source_kind(source)
    if kind.startswith("tflite"):
        from arenite.converters.importers.tflite import import_tflite

        return import_tflite(source, kind, inputs, options.shape)
    if kind == ONNX and has_ml_operators(Path(source)):
        from arenite.converters.importers.onnx_ml.import_model import import_classical

        return import_classical(source, options)
    from arenite.converters.importers.framework_process import import_framework

    return import_framework(source, kind, inputs, options)


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the value of ``ImportOptions.shape`` for texts such as ``["1,3,96,96"]`` or ``["image=1,3,96,96",
    "state=1,8"]``. Raises ``UsageError`` for a text that is no shape, and for two shapes of one input."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        try:
            shape = tuple(int(n) for n in numbers.replace("x", ",").split(","))
        except ValueError:
            shape = ()
        if not shape or min(shape) < 1:
            raise UsageError(
                f"'{text}' is not an input shape.",
                "Write --input-shape 1,3,96,96 or, for one of several inputs, --input-shape NAME=1,3,96,96.",
            )
        if name in shapes:
            raise UsageError(f"--input-shape gives {name or 'the input'} twice.", "Give each input once.")
        shapes[name] = shape
    return shapes
