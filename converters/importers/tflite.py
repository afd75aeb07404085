"""Import TensorFlow Lite files: quantized files stay unchanged, all others get float32 weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.importers import source_kinds
from arenite.converters.importers.agreement import Agreement, agreement
from arenite.converters.importers.imported_model import ImportedModel, Inputs
from arenite.converters.importers.litert_runs import batch_notes, litert_version, random_inputs, run_litert
from arenite.converters.importers.modernize import to_float32
from arenite.converters.tflite.reader import parse, read_bytes
from arenite.converters.tflite.writer import to_flatbuffer


def import_tflite(path: str, kind: str, inputs: Inputs | None) -> ImportedModel:
    """Import the file at ``path``. ``agreement`` compares the model with float32 weights to the original file."""
    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()
    version = {"ai-edge-litert": litert_version()}
    if kind == source_kinds.TFLITE_QUANTIZED:
        return ImportedModel(kind, data, digest, None, {}, ())
    model = parse(data, path)
    floats, notes = to_float32(model)
    flatbuffer = to_flatbuffer(floats)
    compared = None
    if kind != source_kinds.TFLITE_FLOAT32:
        compared = _compare(data, flatbuffer, model, inputs, version["ai-edge-litert"])
    return ImportedModel(
        kind, flatbuffer, digest, compared, version, (*model.repairs, *notes, *batch_notes(model))
    )


def _compare(
    before: bytes, after: bytes, model: Model, inputs: Inputs | None, version: str
) -> Agreement | None:
    user_samples: Sequence[Sequence[np.ndarray]] = inputs(model) if callable(inputs) else inputs or ()
    samples = [*random_inputs(model), *user_samples]
    pairs = zip(run_litert(before, samples), run_litert(after, samples), strict=True)
    return agreement(pairs, f"ai-edge-litert {version}")
