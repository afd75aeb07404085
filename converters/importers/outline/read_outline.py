"""Read the outline of a source model (its inputs, outputs and layers) from its file or folder. This takes milliseconds,
and needs no framework."""

from __future__ import annotations

import mmap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arenite.archive_errors import ARCHIVE_ERRORS
from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.keras_outline import check_keras_classes, read_keras
from arenite.converters.importers.outline.onnx_outline import read_onnx
from arenite.converters.importers.outline.outline import Outline
from arenite.converters.importers.outline.protobuf import TooLargeError
from arenite.converters.importers.outline.saved_model_outline import read_saved_model
from arenite.converters.importers.outline.stated_sizes import check_stated_sizes
from arenite.converters.importers.outline.tflite_outline import outline_of
from arenite.converters.importers.outline.torch_outline import read_torch_program
from arenite.converters.tflite.reader import parse, read_bytes
from arenite.errors import ModelError
from arenite.input_files import parse_json

#: The size of the largest JSON text that is read.
MAX_JSON_BYTES = 8 << 20

#: The largest number of texts in an HDF5 file that are parsed to find the description of the model, for each beginning
#: in ``_KERAS_JSON``.
_MAX_TEXTS = 100

#: The beginnings of the JSON text that describes a Keras model in an HDF5 file.
_KERAS_JSON = (b'{"class_name": "', b'{"module": "')

#: The position of the end-of-file address in an HDF5 file, by the version of its superblock.
_HDF5_END = {0: 40, 1: 44, 2: 28, 3: 28}

_DAMAGED = "Save, export or download it again: the file was probably cut off while it was copied."


def read_outline(
    source: str, kind: str, signature: str = "", shapes: Mapping[str, tuple[int, ...]] | None = None
) -> Outline | None:
    """Return the outline of the source, or None if it cannot be read without the framework.

    Args:
        source: a path.
        kind: what ``source_kind`` returns for the path.
        signature: the signature of a SavedModel that the user chose, or "".
        shapes: the shapes of inputs that the user chose, by name, for a TensorFlow Lite model with open dimensions.

    Raises ``ModelError`` if the file is cut off or damaged, states sizes that are too large for it, or if a separate
    file with weights is missing, and ``UsageError`` if the user must choose a signature.
    """
    outline = _read_outline(source, kind, signature, shapes)
    if outline is not None:
        try:
            check_stated_sizes(source, kind, outline)
        except (TypeError, ValueError, OSError):
            return None  # a size that is no number; the framework reports what is wrong
    return outline


def _read_outline(
    source: str, kind: str, signature: str, shapes: Mapping[str, tuple[int, ...]] | None
) -> Outline | None:
    path = Path(source)
    if kind in (source_kinds.TFLITE_FLOAT32, source_kinds.TFLITE_FLOAT16, source_kinds.TFLITE_DYNAMIC):
        return outline_of(parse(read_bytes(source), source, shapes=shapes or {}))
    if kind == source_kinds.ONNX:
        return _protobuf_outline(path, lambda data: read_onnx(source, data))
    if kind == source_kinds.SAVED_MODEL:
        file = path / "saved_model.pb"
        if not file.is_file():  # the folder has only the text form
            return None
        return _protobuf_outline(file, lambda data: read_saved_model(source, data, signature))
    try:
        if kind == source_kinds.KERAS:
            return _keras_outline(source, _json_member(path, lambda name: name == "config.json"))
        if kind == source_kinds.KERAS_H5:
            return _keras_outline(source, _keras_description(path))
        if kind == source_kinds.TORCH_EXPORT:
            return read_torch_program(
                _json_member(path, lambda n: n.endswith("serialized_exported_program.json") or "models/" in n)
            )
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, OSError):
        return None  # another version of the format; the framework reports what is wrong with a damaged file
    except ARCHIVE_ERRORS:
        return None  # a damaged or encrypted archive, or a compression that ``zipfile`` does not know
    return None


def _keras_outline(source: str, description: Any) -> Outline:
    """Return the outline of the Keras model that ``description`` describes. Raises ``UnsupportedModelError`` for
    layers that Arenite refuses."""
    check_keras_classes(source, description)
    return read_keras(description)


def _protobuf_outline(path: Path, read: Any) -> Outline | None:
    """Return what ``read`` returns for the bytes of the file, or None if the file cannot be opened or is too large.
    Raises ``ModelError`` if the file is damaged."""
    try:
        with path.open("rb") as file:
            # The memory map is not closed here: parts of it may still be in use by an error's traceback.
            outline: Outline = read(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
            return outline
    except ValueError as error:
        raise ModelError(f"{path} is damaged: {error}.", _DAMAGED) from error
    except (OSError, TooLargeError):
        return None


def _json_member(path: Path, is_wanted: Any) -> Any:
    """Return the JSON value in the first member of a ZIP archive whose name ``is_wanted`` accepts. Raises
    ``ValueError`` if there is none, or if it is too large."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".json") and is_wanted(info.filename):
                if info.file_size > MAX_JSON_BYTES:
                    raise ValueError(info.filename)
                return parse_json(archive.read(info))
    raise ValueError("no such member")


def _keras_description(path: Path) -> Any:
    """Return the JSON value that describes the model in an HDF5 file.

    The HDF5 format is not decoded. Keras writes the description as one text, and HDF5 stores such a text in one piece,
    with its size in the eight bytes before. Raises ``ModelError`` if the file is cut off, and ``ValueError`` if there
    is no such text.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = _HDF5_END.get(data[8])
        end = 0 if at is None else int.from_bytes(data[at : at + 8], "little")
        if end > len(data):
            raise ModelError(
                f"{path} is damaged: it has {len(data):,} bytes, but its header says {end:,}.", _DAMAGED
            )
        for beginning in _KERAS_JSON:
            position = data.find(beginning)
            for _ in range(_MAX_TEXTS):
                if position < 8:
                    break
                size = int.from_bytes(data[position - 8 : position], "little")
                if len(beginning) < size <= min(MAX_JSON_BYTES, len(data) - position):
                    try:
                        value = parse_json(data[position : position + size])
                    except ValueError:
                        value = None
                    if isinstance(value, dict) and "layers" in value.get("config", {}):
                        return value
                position = data.find(beginning, position + 1)
    raise ValueError("no description of a model")
