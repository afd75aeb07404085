"""Detect the format of a model source from its content, or from its name if the content does not show the format."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from arenite.converters.importers.modernize import (
    has_dynamic_range_weights,
    has_float16,
    has_quantized_operators,
)
from arenite.converters.tflite.reader import parse, read_bytes
from arenite.errors import ModelError, UsageError
from arenite.input_files import check_is_file

KERAS, KERAS_H5, SAVED_MODEL = "keras", "keras-h5", "saved_model"
ONNX, TORCH_EXPORT, TORCH_FACTORY = "onnx", "torch-export", "torch-factory"
TFLITE_FLOAT32, TFLITE_FLOAT16 = "tflite-float32", "tflite-float16"
TFLITE_DYNAMIC, TFLITE_QUANTIZED = "tflite-dynamic", "tflite-quantised"

#: Every kind that ``source_kind`` can return. A "tflite-dynamic" model has int8 weights and float32 activations.
KINDS = (
    KERAS, KERAS_H5, SAVED_MODEL, ONNX, TORCH_EXPORT, TORCH_FACTORY,
    TFLITE_FLOAT32, TFLITE_FLOAT16, TFLITE_DYNAMIC, TFLITE_QUANTIZED,
)  # fmt: skip

ACCEPTED_SOURCES = (
    "Give a .tflite, .keras, .h5, .onnx or .pt2 file, a SavedModel folder, "
    "or module:function that builds a PyTorch model."
)

#: The first bytes of HDF5 files and of ZIP files, and the form of module:function.
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")

#: The format of each file name ending. The error for a file with another content names it.
_FORMATS = {
    ".keras": "Keras 3",
    ".h5": "HDF5",
    ".hdf5": "HDF5",
    ".tflite": "TensorFlow Lite",
    ".pt2": "torch.export",
}

_CHECKPOINT = (
    "a PyTorch checkpoint, which holds weights but no graph",
    "Give module:function, a function that builds the model and loads the weights, or save the model with "
    "torch.export.save as .pt2.",
)

_PICKLE = (
    "a pickle, which can run any program when it is read",
    "Export a scikit-learn model as ONNX with skl2onnx: "
    "open('model.onnx', 'wb').write(to_onnx(model, X[:1].astype('float32')).SerializeToString()). "
    "Export a network in a format of its framework.",
)

#: Common files that are not models: (description, hint for the user) by file name ending.
_OTHERS = {
    ".pt": _CHECKPOINT,
    ".pth": _CHECKPOINT,
    ".ckpt": _CHECKPOINT,
    ".safetensors": ("weights without a graph", _CHECKPOINT[1]),
    ".pb": ("a TensorFlow graph by itself", "Give the SavedModel folder that contains it."),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLE),
    ".skops": ("a skops file", _PICKLE[1]),
    ".npz": ("a NumPy archive, not a model", "Give it with --calibration."),
    ".gguf": (
        "a language model, which is too large for a microcontroller",
        "Run it on a computer: `arenite fit`, `chat`, `bench` and `serve` take it.",
    ),
}


def source_kind(source: str) -> str:
    """Return one of ``KINDS`` for a path or ``module:function``.

    Raises ``UsageError`` for a source that is missing or unknown, ``ModelError`` for a damaged TensorFlow Lite file.
    """
    path = Path(source)
    try:
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {source!r}: {error}.", "Check the path.") from error
    if not exists:
        if _FACTORY.fullmatch(source):
            return TORCH_FACTORY
        raise UsageError(f"There is no file or folder {source}.", f"Check the path. {ACCEPTED_SOURCES}")
    return _folder_kind(path) if folder else _file_kind(path)


def _folder_kind(path: Path) -> str:
    if any((path / name).is_file() for name in ("saved_model.pb", "saved_model.pbtxt")):
        return SAVED_MODEL
    raise UsageError(f"The folder {path} has no saved_model.pb.", ACCEPTED_SOURCES)


def _file_kind(path: Path) -> str:
    try:
        check_is_file(path)
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.", "Check the path.") from error
    suffix = path.suffix.lower()
    if not head:
        raise UsageError(f"{path} is empty.", "Save or download the model again.")
    if head[4:8] == b"TFL3":
        return _tflite_kind(path)
    if head.startswith(_HDF5):
        return KERAS_H5
    if head.startswith(_ZIP):
        return _zip_kind(path)
    if suffix == ".onnx":
        return ONNX
    if suffix in _OTHERS:
        description, hint = _OTHERS[suffix]
        raise UsageError(f"{path} is {description}.", hint)
    if suffix in _FORMATS:
        raise ModelError(
            f"{path} is not a {_FORMATS[suffix]} file: it starts with {head[:8].hex(' ')}.",
            "The file was damaged or has the wrong ending: save or download it again.",
        )
    raise UsageError(f"{path} is not a kind of model that Arenite can read.", ACCEPTED_SOURCES)


def _tflite_kind(path: Path) -> str:
    model = parse(read_bytes(path), str(path), keep_open=True)
    if has_quantized_operators(model):
        return TFLITE_QUANTIZED
    if has_float16(model):
        return TFLITE_FLOAT16
    return TFLITE_DYNAMIC if has_dynamic_range_weights(model) else TFLITE_FLOAT32


def _zip_kind(path: Path) -> str:
    """Return the kind of a ZIP archive, Keras 3 or torch.export. Raises ``UsageError`` for other archives."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise ModelError(
            f"{path} is a damaged archive ({error}).", "Save or download the model again."
        ) from error
    if {"config.json", "metadata.json"} <= set(names):
        return KERAS
    bases = {name.rpartition("/")[2] for name in names}
    # Up to PyTorch 2.7 the program is at the top level; later releases put it in models/.
    if "serialized_exported_program.json" in bases or any(
        "models/" in n and n.endswith(".json") for n in names
    ):
        return TORCH_EXPORT
    if "constants.pkl" in bases:
        raise UsageError(
            f"{path} is a TorchScript file.",
            "Export the model again with torch.export and torch.export.save (.pt2).",
        )
    if "data.pkl" in bases:
        raise UsageError(f"{path} is {_CHECKPOINT[0]}.", _CHECKPOINT[1])
    description, hint = _OTHERS.get(path.suffix.lower(), ("an archive without a model", ACCEPTED_SOURCES))
    raise UsageError(f"{path} is {description}.", hint)
