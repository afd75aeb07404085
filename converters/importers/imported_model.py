"""The result of an import, the options that a source may need, and the hash of a source."""

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
from arenite.converters.tflite.reader import parse

#: ``samples[k][i]``: input ``i`` of sample ``k``, in the layout of the flatbuffer with its batch of 1; or a function
#: that gives them once the flatbuffer, which tells the shapes, is known.
Inputs = Sequence[Sequence[np.ndarray]] | Callable[[Model], Sequence[Sequence[np.ndarray]]]


@dataclass(frozen=True)
class ImportOptions:
    """Options for what a source does not state.

    ``shape``: input name to its shape as the source has it (NCHW for PyTorch and ONNX), "" for the only input.
    ``signature``: the signature of a SavedModel to convert. ``keep_layout``: leave NCHW inputs and outputs as they are.
    ``progress``: show long steps on standard error.
    """

    shape: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    signature: str = ""
    keep_layout: bool = False
    progress: bool = True


@dataclass(frozen=True)
class ImportedModel:
    """A model as TFLite: batch 1, static shapes, NHWC for images.

    ``flatbuffer`` is float32, or quantized where the source already was (``quantized``). ``sha256`` is of the source's
    bytes. ``agreement`` compares it with the source run by its own framework; None where nothing was changed.
    ``made_by`` has the versions of the packages that determine the bytes, ``notes`` a sentence for each change.
    """

    kind: str
    flatbuffer: bytes
    sha256: str
    agreement: Agreement | None
    made_by: Mapping[str, str]
    notes: tuple[str, ...]

    @cached_property
    def quantized(self) -> bool:
        """Whether it is already quantised: nothing is left to calibrate."""
        return has_quantized_operators(parse(self.flatbuffer))


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
