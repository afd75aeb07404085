"""Any trained model in, one flatbuffer out: float32 and ready for calibration, or quantised and left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.importers import source_kinds
from arenite.converters.importers.agreement import Agreement
from arenite.converters.importers.modernize import has_quantized_operators
from arenite.converters.importers.source_kinds import source_kind
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError

__all__ = ["Agreement", "ImportOptions", "ImportedModel", "import_source", "parse_shapes", "source_kind"]

#: ``samples[k][i]``: input ``i`` of sample ``k``, in the layout of the flatbuffer with its batch of 1; or a function
#: that gives them once the flatbuffer, which tells the shapes, is known.
Inputs = Sequence[Sequence[np.ndarray]] | Callable[[Model], Sequence[Sequence[np.ndarray]]]


@dataclass(frozen=True)
class ImportOptions:
    """Answers to what a source leaves open.

    ``shape``: input name to its shape as the source has it (NCHW for PyTorch and ONNX), "" for the only input.
    ``signature``: which one of a SavedModel. ``keep_layout``: leave NCHW inputs and outputs as they are.
    ``progress``: show what takes long on standard error.
    """

    shape: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    signature: str = ""
    keep_layout: bool = False
    progress: bool = True


@dataclass(frozen=True)
class ImportedModel:
    """A model as TFLite: batch 1, static shapes, NHWC for images.

    ``flatbuffer`` is float32, or quantised where the source already was (``quantised``). ``sha256`` is of the source's
    bytes. ``agreement`` compares it with the source run by its own framework; None where nothing was changed.
    ``made_by`` has the versions that decide the bytes, ``notes`` a sentence for each thing that was changed on the way.
    """

    kind: str
    flatbuffer: bytes
    sha256: str
    agreement: Agreement | None
    made_by: Mapping[str, str]
    notes: tuple[str, ...]

    @cached_property
    def quantised(self) -> bool:
        """Whether it is already quantised: nothing is left to calibrate."""
        return has_quantized_operators(parse(self.flatbuffer))


def import_source(
    source: str, *, inputs: Inputs | None = None, options: ImportOptions | None = None
) -> ImportedModel:
    """Read or convert ``source``, a path or ``module:function``, and compare it with its framework.

    ``inputs``, for example calibration samples, are run besides random ones for ``agreement``.

    Raises:
        UsageError: a missing or unknown source, or a question that ``options`` must answer.
        ModelError: a damaged file, or a model that its framework or TensorFlow Lite refuses.
        ToolError: the framework's environment could not be made, or its process failed.
    """
    options = options or ImportOptions()
    kind = source_kind(source)
    if kind.startswith("tflite"):
        from arenite.converters.importers.tflite import import_tflite

        return import_tflite(source, kind, inputs)
    from arenite.converters.importers.framework_process import import_framework

    return import_framework(source, kind, inputs, options)


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """``["1,3,96,96"]`` or ``["image=1,3,96,96", "state=1,8"]`` as ``ImportOptions.shape`` wants it."""
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


def source_sha256(source: str, kind: str) -> str:
    """SHA-256 of a file, or of the names and bytes of a folder's files in order; "" for a factory, which is code."""
    if kind == source_kinds.TORCH_FACTORY:
        return ""
    path = Path(source)
    digest = hashlib.sha256()
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    for file_path in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(file_path.relative_to(path).as_posix().encode() + b"\0")
        with file_path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
