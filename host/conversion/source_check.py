"""Check the inputs, outputs and layers of a source against the options and samples, before a framework starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from arenite.array_files import read_array_shapes, read_arrays
from arenite.converters.graph.model import Model, Subgraph, Tensor
from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.outline import Outline
from arenite.converters.importers.outline.refused_layers import check_layers
from arenite.converters.importers.subprocesses.input_shapes import ShapeProblem, fixed_input_shapes
from arenite.converters.quantize.dataset.dataset import check_count
from arenite.converters.quantize.dataset.sample_files import ARRAYS, unreadable
from arenite.converters.quantize.dataset.sample_folders import classes_of, sample_paths
from arenite.converters.quantize.dataset.sample_values import reshape_samples
from arenite.errors import ModelError, UsageError
from arenite.host.conversion.pixels import add_pixel_preprocessing
from arenite.host.conversion.request import ConversionRequest
from arenite.host.conversion.value_check import check_arrays, check_files

#: The names of arrays with one entry per sample.
_PER_SAMPLE = re.compile(r"[xy]\d*|slice_.*")

#: The permutation from NCHW to NHWC.
_CHANNELS_LAST = (0, 2, 3, 1)

#: The largest number of labels that are read.
_MAX_LABELS = 10_000_000


def check_graph(request: ConversionRequest, kind: str, outline: Outline) -> None:
    """Raise ``UsageError`` or ``ModelError`` if a shape of an input is missing, or a layer of the source cannot run.

    ``kind`` is what ``source_kind`` returns for the source, and ``outline`` has the inputs, outputs and layers of the
    source.
    """
    _input_shapes(request, outline)
    check_layers(kind, outline)


def check_samples(request: ConversionRequest, outline: Outline) -> None:
    """Raise ``UsageError`` if the samples, labels or preprocessing of ``request`` do not belong to the source with the
    outline ``outline``. The files of ``request`` exist."""
    inputs = _input_shapes(request, outline)
    outputs = _outputs(outline)
    layouts = [] if inputs is None else _layouts(request, outline, inputs)
    if layouts and outputs:
        request.attachments.check_labels(_model(layouts[0], outputs))
    spec = None
    if len(layouts) == 1:
        with_pixels, _ = add_pixel_preprocessing(request, _model(layouts[0], outputs))
        spec = with_pixels.attachments.preprocessing
        request.attachments.check_preprocessing(_model(layouts[0], outputs))
    for path in (request.calibration, request.test, request.field_data):
        if path is None or (path == request.calibration and request.calibrates_with_random):
            continue
        if layouts:
            _check_arrays(path, layouts, calibration=path == request.calibration)
        if len(outputs) == 1:
            _check_classes(request, path, outputs[0].shape[-1])
        if layouts:
            check_arrays(path, layouts, spec, calibration=path == request.calibration)
        if spec is not None:
            check_files(path, spec, layouts[0][0])


def _input_shapes(request: ConversionRequest, outline: Outline) -> list[tuple[int, ...]] | None:
    """Return the shapes of the inputs in the layout of the source, without open dimensions. Return None if they are
    not known. Raises ``UsageError`` and ``ModelError``."""
    if outline.inputs is None:
        return None
    if not outline.inputs:
        raise ModelError(f"{request.source} has no inputs.", "Export the model with its inputs.")
    try:
        shapes: list[tuple[int, ...]] = fixed_input_shapes(
            request.options.shape, [(tensor.name, tensor.shape) for tensor in outline.inputs]
        )
        return shapes
    except ShapeProblem as wrong:
        error = ModelError if wrong.kind == "model" else UsageError
        raise error(wrong.problem, wrong.hint) from wrong


def _outputs(outline: Outline) -> list[Tensor]:
    """Return the outputs with the last dimension of their shapes only, or an empty list if one is not known."""
    tensors = []
    for i, output in enumerate(outline.outputs or ()):
        if not output.shape or output.shape[-1] is None:
            return []
        if len(output.shape) == 4 and outline.has_nchw_pictures:  # the last dimension may become another one
            return []
        tensors.append(Tensor(i, output.name, (output.shape[-1],), "float32"))
    return tensors


def _layouts(
    request: ConversionRequest, outline: Outline, shapes: Sequence[tuple[int, ...]]
) -> list[list[Tensor]]:
    """Return the inputs that the converted model can have: one list of tensors, or two if the outline does not
    show whether the inputs with four dimensions become NHWC."""
    unknown = None in outline.channels_first and not request.options.keep_layout
    layouts = []
    for assumed in (True, False) if unknown else (True,):
        tensors = []
        for i, (known, shape, first) in enumerate(
            zip(outline.inputs or (), shapes, outline.channels_first, strict=True)
        ):
            is_transposed = (assumed if first is None else first) and not request.options.keep_layout
            shape = tuple(shape[axis] for axis in _CHANNELS_LAST) if is_transposed else shape
            tensors.append(Tensor(i, known.name, shape, "float32"))
        layouts.append(tensors)
    return layouts


def _model(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Model:
    """Return a model without operators."""
    tensors = (*inputs, *outputs)
    indices = tuple(range(len(tensors)))
    return Model((Subgraph("", tensors, (), indices[: len(inputs)], indices[len(inputs) :]),))


def _check_arrays(path: Path, layouts: Sequence[Sequence[Tensor]], *, calibration: bool) -> None:
    """Raise ``UsageError`` if the shapes of the arrays in an .npz file fit none of the ``layouts``, if the arrays have
    different numbers of samples, or if these are too few for ``calibration``."""
    if path.is_dir() or path.suffix.lower() != ".npz":
        return
    shapes = _shapes(path)
    first = layouts[0]
    names = ["x"] if len(first) == 1 and "x0" not in shapes else [f"x{i}" for i in range(len(first))]
    missing = [name for name in names if name not in shapes]
    if missing or f"x{len(first)}" in shapes:
        wrong = f"has no array '{missing[0]}'" if missing else f"has the array 'x{len(first)}'"
        listed = ", ".join(f"'{tensor.name}'" for tensor in first[:8])
        raise UsageError(
            f"{path} {wrong}; the model has {len(first)} input{'s' * (len(first) != 1)}: {listed}.",
            f"Write {'the array x' if len(first) == 1 else 'the arrays ' + ', '.join(names[:8])}, in the order of the "
            "inputs, and y for labels.",
        )
    errors = []
    for tensors in layouts:
        try:
            for name, tensor in zip(names, tensors, strict=True):
                # The array takes no memory: all its values are the same zero.
                array = np.broadcast_to(np.zeros((), np.int8), shapes[name])
                if array.ndim:  # the loader explains what is wrong with a single number
                    reshape_samples(str(path), name, array, tensor)
            break
        except UsageError as error:
            errors.append(error)
    else:
        raise errors[0]
    _check_counts(path, names[0], shapes, calibration=calibration)


def _check_counts(
    path: Path, first: str, shapes: Mapping[str, tuple[int, ...]], *, calibration: bool
) -> None:
    """Raise ``UsageError`` if an array of samples, labels or groups has another number of entries than the array
    ``first``, or if there are too few for ``calibration``."""
    if not shapes[first]:
        return  # a single number: the loader explains what is wrong
    count = shapes[first][0]
    for name, shape in shapes.items():
        if _PER_SAMPLE.fullmatch(name) and shape[:1] != (count,):
            other = f"{shape[0]:,} samples" if shape else "no dimension"
            raise UsageError(
                f"{path}: '{first}' has {count:,} samples and '{name}' has {other}.",
                "Write one entry per sample in every array.",
            )
    if not count:
        raise UsageError(f"{path} has no samples.", "Write at least one.")
    if calibration:
        check_count(str(path), count)


def _check_classes(request: ConversionRequest, path: Path, values: int) -> None:
    """Raise ``UsageError`` if the samples at ``path`` have labels of more classes than an output of ``values`` values
    has. A single value can be one of two classes."""
    classes = max(values, 2)
    if path.is_dir():
        has_preprocessing = request.pixels is not None or request.attachments.preprocessing is not None
        files = sample_paths(path, has_preprocessing)
        names = () if files[0].suffix.lower() in ARRAYS else classes_of(path, files, files)[1]
        if len(names) > classes and not request.attachments.labels:
            raise UsageError(
                f"{path} has {len(names)} classes ({', '.join(names)[:100]}); the model's output has {classes}.",
                "Keep one sub-folder for each class of the model, or give the names of its classes with --labels.",
            )
    elif path.suffix.lower() == ".npz" and request.metric in (None, "accuracy"):
        shape = _shapes(path).get("y")
        if shape is None or len(shape) != 1 or shape[0] > _MAX_LABELS:
            return
        labels = _labels(path)
        if labels is not None and labels.dtype.kind in "iu" and values > 1 and labels.size and (
            labels.min() < 0 or labels.max() >= classes
        ):  # fmt: skip
            raise UsageError(
                f"{path} has labels from {labels.min()} to {labels.max()}; the model's output has the classes 0 to "
                f"{classes - 1}.",
                "Number the classes as the model does.",
            )


def _labels(path: Path) -> np.ndarray | None:
    try:
        return read_arrays(path, only=("y",)).get("y")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        return read_array_shapes(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def check_signature(request: ConversionRequest, kind: str) -> None:
    """Raise ``UsageError`` for --signature with a source that has no signatures to choose from."""
    if request.options.signature and kind != source_kinds.SAVED_MODEL:
        raise UsageError(
            f"{request.source} is no SavedModel, so --signature {request.options.signature} does not apply.",
            "Leave out --signature.",
        )
