"""Find out whether a model keeps state between two inferences, such as the hidden state of an LSTM."""

from __future__ import annotations

import mmap
from pathlib import Path

from arenite.errors import ModelError
from arenite.host.camera.model.flatbuffer_reader import TableView

#: Numbers of the TFLite schema (lite/schema/schema.fbs): fields of its tables, and values of BuiltinOperator.
_MODEL_CODES, _MODEL_SUBGRAPHS, _GRAPH_TENSORS, _TENSOR_IS_VARIABLE = 1, 2, 0, 5
_CODE_BUILTIN = 3
_VAR_HANDLE = 142


def keeps_state(path: Path) -> bool:
    """Return whether the TFLite file ``path`` has variables. ONNX models never keep state. Raises ``ModelError`` for a
    damaged file."""
    if path.suffix == ".onnx":
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        view = memoryview(data)
        try:
            return _has_variables(TableView.root(view))
        except ValueError as error:
            raise ModelError(f"Cannot read {path}: {error}.", "Get the file again.") from error
        finally:
            view.release()


def _has_variables(root: TableView) -> bool:
    if any(code.integer(_CODE_BUILTIN) == _VAR_HANDLE for code in root.tables(_MODEL_CODES)):
        return True
    return any(
        tensor.integer(_TENSOR_IS_VARIABLE, "b")
        for graph in root.tables(_MODEL_SUBGRAPHS)
        for tensor in graph.tables(_GRAPH_TENSORS)
    )
