"""Check the files beside an ONNX model that hold its weights, before the onnx library opens them.

An ONNX model names files with weights by paths of its own choice. The onnx library keeps these paths inside the model's
folder, but some versions follow a symbolic link there, to any file that the user can read. Its bytes would become
weights of the converted model, which the user may then publish.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any


def external_problem(model: Any, folder: Path) -> str:
    """Return what is wrong with the files of weights that ``model`` names, or "" if nothing is.

    Args:
        model: a ``ModelProto`` that was read without its external data.
        folder: the folder of the model's file.
    """
    root = Path(os.path.realpath(folder))
    for tensor in _tensors(model):
        if tensor.data_location != tensor.EXTERNAL:
            continue
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        path = root / location
        if not location or Path(location).is_absolute() or ".." in Path(location).parts or "\0" in location:
            return (
                f"tensor '{tensor.name}' is in the file '{location}', which is not below the model's folder"
            )
        try:
            status = os.lstat(path)
        except OSError:
            return f"tensor '{tensor.name}' is in the file '{location}', which is missing"
        if Path(os.path.realpath(path)) != path or not stat.S_ISREG(status.st_mode):
            return f"tensor '{tensor.name}' is in '{location}', which is a link or not a file"
        if status.st_nlink > 1:
            return f"tensor '{tensor.name}' is in '{location}', which is a file with several names"
    return ""


def _tensors(message: Any) -> Any:
    """Yield every ``TensorProto`` below ``message``, wherever it is: in initializers, attributes, subgraphs."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for each in value if isinstance(value, list) or hasattr(value, "add") else [value]:
            if field.message_type.name == "TensorProto":
                yield each
            yield from _tensors(each)
