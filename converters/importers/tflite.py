"""Import TensorFlow Lite files. Quantized files stay unchanged, unless shapes of inputs are given. In all other files,
the weights become float32."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.importers import source_kinds
from arenite.converters.importers.agreement import Agreement, agreement
from arenite.converters.importers.imported_model import ImportedModel, Inputs
from arenite.converters.importers.litert_runs import batch_notes, litert_version, random_inputs, run_litert
from arenite.converters.importers.modernize import to_float32
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.tflite.reader import parse, read_bytes
from arenite.converters.tflite.writer import to_flatbuffer


def import_tflite(
    path: str, kind: str, inputs: Inputs | None, shapes: Mapping[str, tuple[int, ...]]
) -> ImportedModel:
    """Import the TensorFlow Lite file at ``path`` and return the model. ``kind`` is the kind of the file, which
    ``source_kind`` returned.

    If weights were converted to float32, ``ImportedModel.agreement`` compares the outputs with those of the original
    weights, on random samples and on ``inputs``. ``shapes`` has the shapes of inputs with open dimensions, as ``parse``
    takes them. With ``shapes``, a quantized file is written again with these shapes. Raises ``ModelError`` and
    ``UsageError`` as ``parse`` does.
    """
    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()
    version = {"ai-edge-litert": litert_version()}
    model = parse(data, path, shapes=shapes)
    if kind == source_kinds.TFLITE_QUANTIZED and not shapes:
        return ImportedModel(kind, data, digest, None, {}, ())
    if shapes:
        model = replace(fold_constants(model)[0], repairs=(_shapes_note(model),))
        data = to_flatbuffer(model)
        if kind == source_kinds.TFLITE_QUANTIZED:
            return ImportedModel(kind, data, digest, None, {}, model.repairs)
    floats, notes = to_float32(model)
    flatbuffer = to_flatbuffer(floats)
    compared = None
    if kind != source_kinds.TFLITE_FLOAT32:
        compared = _compare(data, flatbuffer, model, inputs, version["ai-edge-litert"])
    return ImportedModel(
        kind, flatbuffer, digest, compared, version, (*model.repairs, *notes, *batch_notes(model))
    )


def _shapes_note(model: Model) -> str:
    """Return the note about inputs whose shapes the user gave."""
    g = model.main
    inputs = ", ".join(f"'{g.tensors[i].name}' {list(g.tensors[i].shape)}" for i in g.inputs)
    return f"The shapes are fixed for the inputs {inputs}."


def _compare(
    before: bytes, after: bytes, model: Model, inputs: Inputs | None, version: str
) -> Agreement | None:
    """Return the agreement of two flatbuffers of ``model``: ``before`` has the original weights, and ``after`` has
    float32 weights. Both run on random samples and on the samples ``inputs``. ``version`` is LiteRT's version."""
    user_samples: Sequence[Sequence[np.ndarray]] = inputs(model) if callable(inputs) else inputs or ()
    samples = [*random_inputs(model), *user_samples]
    pairs = zip(run_litert(before, samples), run_litert(after, samples), strict=True)
    return agreement(pairs, f"ai-edge-litert {version}")
