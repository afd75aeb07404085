"""Check the files that hold the weights of an ONNX model, before the onnx library opens them.

An ONNX model can name files with weights by any path. The onnx library refuses paths outside of the model's folder, but
some versions follow a symbolic link in this folder to any file that the user can read. The bytes of that file would
become weights of the converted model, which the user may then publish.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any


def external_problem(model: Any, folder: Path) -> str:
    """Return a description of what is wrong with the files of weights that ``model`` names, or "" if nothing is wrong.

    Args:
        model: The model (``ModelProto``), read without its external data.
        folder: The folder that contains the model's file.
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
    """Yield every ``TensorProto`` in ``message``: in initializers, attributes and subgraphs."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for each in value if isinstance(value, list) or hasattr(value, "add") else [value]:
            if field.message_type.name == "TensorProto":
                yield each
            yield from _tensors(each)
