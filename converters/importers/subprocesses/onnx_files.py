"""Check the files that hold the weights of an ONNX model, before the onnx library opens them.

An ONNX model can name files with weights by any path. The onnx library refuses paths outside of the model's folder, but
some versions follow a symbolic link in this folder to any file that the user can read. The bytes of that file would
become weights of the converted model, which the user may then publish.
"""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path
from typing import Any

from size_limits import MAX_VALUES, max_expanded_bytes

#: The maximum number of bytes of all weights: no larger message can be written.
MAX_BYTES = 2 << 30

_VALUE_BYTES = 4

_MAX_LIST = 1 << 20


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


def size_problem(model: Any, path: Path) -> str:
    """Return which weights of ``model``, the model in the file ``path``, are too large for its files, or "" if none
    are. ``external_problem`` must have accepted the files of weights."""
    sizes = {path: os.stat(path).st_size}
    total = 0
    for tensor in _tensors(model):
        if any(size < 0 for size in tensor.dims):
            return f"tensor '{tensor.name}' has a negative dimension"
        needed = math.prod(tensor.dims) * _VALUE_BYTES
        if tensor.data_location == tensor.EXTERNAL:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            file = path.parent / entries["location"]
            sizes[file] = os.stat(file).st_size
            offset, length = (int(entries.get(key) or 0) for key in ("offset", "length"))
            rest = max(0, sizes[file] - offset)
            needed = max(needed, min(length, rest) if length else rest)  # what the onnx library reads
        total += needed
        limit = max_expanded_bytes(sum(sizes.values()), MAX_BYTES)
        if total > limit:
            return (
                f"with tensor '{tensor.name}' of shape {list(tensor.dims)}, the weights take up to {total:,} bytes; "
                f"the limit for files of this size is {limit:,}"
            )
    return ""


def shape_problem(model: Any) -> str:
    """Return which tensor of ``model`` has too many values, or "" if none has. ``model`` is the result of ONNX's
    inference of shapes."""
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        sizes = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if all(size > 0 for size in sizes) and math.prod(sizes) > MAX_VALUES:
            return f"tensor '{value.name}' has {math.prod(sizes):,} values; the limit is {MAX_VALUES:,}"
    return ""


def has_long_lists(model: Any) -> bool:
    """Return whether ``model`` has lists (tensors of one dimension) with more than ``_MAX_LIST`` values. ONNX's
    inference of shapes takes about 100 bytes for each value of a list that may be a shape."""
    shapes = [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.value_info]
    shapes += [list(tensor.dims) for tensor in model.graph.initializer]
    return any(len(shape) == 1 and shape[0] > _MAX_LIST for shape in shapes)


def _tensors(message: Any) -> Any:
    """Yield every ``TensorProto`` in ``message``: in initializers, attributes and subgraphs."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for each in value if isinstance(value, list) or hasattr(value, "add") else [value]:
            if field.message_type.name == "TensorProto":
                yield each
            yield from _tensors(each)
