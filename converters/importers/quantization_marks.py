"""Find out from a source's bytes, without its framework, whether the model may be quantized already."""

from __future__ import annotations

import mmap
import zipfile
from pathlib import Path

from arenite.archive_errors import ARCHIVE_ERRORS
from arenite.converters.importers import source_kinds

#: Text that every quantized model of a kind contains: names of operators, layers or configurations.
_MARKS: dict[str, tuple[bytes, ...]] = {
    source_kinds.ONNX: (b"uantize", b"QLinear", b"Integer", b"TreeEnsemble"),  # trees need no quantization
    # Classes such as QuantizeWrapperV2 and QuantizedDTypePolicy. "quantization_config" shows nothing, because
    # Keras writes it for every layer.
    source_kinds.KERAS: (b"Quantize",),
    source_kinds.KERAS_H5: (b"Quantize",),
    source_kinds.SAVED_MODEL: (b"uantiz", b"FakeQuant"),
    source_kinds.TORCH_EXPORT: (b"quantize",),
}

#: The kinds of TensorFlow Lite files with float activations.
FLOAT_FILES = (source_kinds.TFLITE_FLOAT32, source_kinds.TFLITE_FLOAT16, source_kinds.TFLITE_DYNAMIC)

#: A larger JSON file in an archive is not searched: its model may be quantized.
_MAX_GRAPH_BYTES = 64 << 20


def may_be_quantized(source: str, kind: str) -> bool:
    """Return False only if the model of the ``kind`` at ``source`` is certainly not quantized.

    Only names are searched, so the answer takes milliseconds.
    """
    if kind in FLOAT_FILES:
        return False
    if kind not in _MARKS:
        return True
    path = Path(source)
    try:
        if kind in (source_kinds.KERAS, source_kinds.TORCH_EXPORT):
            return _archive_has(path, _MARKS[kind])
        if kind == source_kinds.SAVED_MODEL:
            path = path / "saved_model.pb"
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(mark) >= 0 for mark in _MARKS[kind])
    except (OSError, ValueError):
        return True  # the importer reports what is wrong with the file
    except ARCHIVE_ERRORS:
        return True


def _archive_has(path: Path, marks: tuple[bytes, ...]) -> bool:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.filename.endswith(".json"):
                continue
            if member.file_size > _MAX_GRAPH_BYTES:
                return True
            data = archive.read(member)
            if any(mark in data for mark in marks):
                return True
    return False
