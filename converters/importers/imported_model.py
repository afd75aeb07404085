"""The classes for the result and the options of an import, and the hash of a source."""

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

#: Samples, or a function that returns samples. ``samples[k][i]`` is input ``i`` of sample ``k``, in the layout of the
#: flatbuffer with its batch of 1. A function is called with the converted model, from which it can read the shapes.
Inputs = Sequence[Sequence[np.ndarray]] | Callable[[Model], Sequence[Sequence[np.ndarray]]]


@dataclass(frozen=True)
class ImportOptions:
    """Options for facts that a source may not contain.

    ``shape`` maps the name of an input to its shape in the source's layout (NCHW for PyTorch and ONNX); "" names the
    only input. ``signature`` is the signature of a SavedModel to convert. ``keep_layout`` leaves NCHW inputs and
    outputs as they are. ``progress`` shows long steps on standard error. ``features`` is the type of the features of
    tree ensembles, one of ``graph.feature_types.FEATURE_TYPES``.
    """

    shape: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    signature: str = ""
    keep_layout: bool = False
    progress: bool = True
    features: str = "float32"


@dataclass(frozen=True)
class ImportedModel:
    """A model as TFLite: batch 1, static shapes, NHWC for images.

    ``flatbuffer`` is float32, or quantized if the source was already quantized (``quantized``). ``sha256`` is the hash
    of the source's bytes. ``agreement`` compares the outputs of ``flatbuffer`` with the outputs of the source in its
    own framework. It is None if they were not compared, as for a TFLite file whose weights were not converted and for a
    classical model. ``made_by`` has the versions of the packages that determine the
    bytes of ``flatbuffer``. ``notes`` has a sentence for each change. ``labels`` has the names of the classes, if the
    source names them. ``is_classifier`` is true if the source itself decides for the class with the largest output.
    """

    kind: str
    flatbuffer: bytes
    sha256: str
    agreement: Agreement | None
    made_by: Mapping[str, str]
    notes: tuple[str, ...]
    labels: tuple[str, ...] = ()
    is_classifier: bool = False

    @cached_property
    def quantized(self) -> bool:
        """Whether the model is already quantized and needs no calibration."""
        return has_quantized_operators(parse(self.flatbuffer))


def source_sha256(source: str, kind: str) -> str:
    """Return the SHA-256 of a file, or of the sorted names and the hashes of a folder's files. Returns "" for a Python
    function that builds a model."""
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
