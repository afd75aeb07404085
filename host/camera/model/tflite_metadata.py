"""Read TFLite Metadata: the normalization and the labels that a model's author wrote into the file.

The metadata is a separate flatbuffer (``TFLITE_METADATA``, metadata_schema.fbs of TFLite Support). Label files are in
a ZIP archive at the end of the model. See https://ai.google.dev/edge/litert/conversion/tensorflow/metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.host.camera.model.flatbuffer_reader import Buffer, TableView

NAME = "TFLITE_METADATA"
_MODEL_SUBGRAPHS = 3
_GRAPH_INPUTS, _GRAPH_OUTPUTS = 2, 3
_TENSOR_UNITS, _TENSOR_FILES = 4, 6
#: Values of the schema's enums: a process unit, and types of associated files.
_NORMALIZATION = 1
_AXIS_LABELS, _VALUE_LABELS = 2, 3
_MAX_TEXT_BYTES = 4 << 20


@dataclass(frozen=True)
class ModelMetadata:
    """The metadata of a model.

    The value of a pixel p (0 to 255) in the input is (p - mean) / std. ``mean`` and ``std`` have one value, or one
    value per channel; they are empty if the file does not record them. ``files`` has the names of label files, in the
    order of the outputs.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    files: tuple[str, ...]


def read_metadata(blob: bytes) -> ModelMetadata | None:
    """Parse the metadata. Return None if it cannot be read, because the model works without it."""
    try:
        graph = TableView.root(blob).table_of(_MODEL_SUBGRAPHS, 0)
        mean: tuple[float, ...] = ()
        std: tuple[float, ...] = ()
        for tensor in graph.tables(_GRAPH_INPUTS)[:1]:
            for unit in tensor.tables(_TENSOR_UNITS):
                options = unit.table(1)
                if unit.integer(0, "B") == _NORMALIZATION and options is not None:
                    mean, std = tuple(options.numbers(0, "f")), tuple(options.numbers(1, "f"))
        files = [
            file.text(0)
            for tensor in graph.tables(_GRAPH_OUTPUTS)
            for file in tensor.tables(_TENSOR_FILES)
            if file.integer(2, "b") in (_AXIS_LABELS, _VALUE_LABELS) and not file.text(3)
        ]
    except ValueError:
        return None
    is_valid = mean and std and all(s > 0 for s in std) and {len(mean), len(std)} <= {1, 3}
    return ModelMetadata(mean if is_valid else (), std if is_valid else (), tuple(files))


def archived_labels(path: Path, data: Buffer, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels: the lines of the first file in ``names``, from the archive at the end of the model. Return ()
    if the archive or the file is missing. ``data`` is the content of the model file at ``path``."""
    lines = archived_text(path, data, names[:1]).splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def archived_text(path: Path, data: Buffer, names: tuple[str, ...]) -> str:
    """Return the text of the first file in ``names`` that the archive at the end of the model contains; "" if there is
    none. ``data`` is the content of the model file at ``path``."""
    # Search for the signature of an archive's last record first, because most models have no archive and importing
    # zipfile takes 5 ms. The record has 22 bytes and a comment of at most 65 535 bytes.
    if not names or b"PK\5\6" not in bytes(data[-65_557:]):
        return ""
    import zipfile

    from arenite.archive_errors import ARCHIVE_ERRORS

    try:
        with zipfile.ZipFile(path) as archive:
            for name in names:
                if name in archive.namelist() and archive.getinfo(name).file_size <= _MAX_TEXT_BYTES:
                    return archive.read(name).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
    except ARCHIVE_ERRORS:
        return ""
    return ""
