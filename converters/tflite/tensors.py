"""Convert a decoded tensor table to a ``Tensor``, and check its shape, its size, its constant value and its dynamic
dimensions."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from arenite.converters.graph.model import DTYPES, PACKED_BITS, Tensor
from arenite.converters.tflite.diagnostics import Repairs, malformed, tensor_at, unsupported
from arenite.converters.tflite.quantization import quantization
from arenite.converters.tflite.schema_names import TYPE_NAMES
from arenite.counts import count_of

#: The maximum number of dimensions of a tensor.
MAX_RANK = 8
#: Tensors of this number of bytes or more are refused. For types that NumPy lacks, the limit is a number of elements.
MAX_TENSOR_BYTES = 2**31
#: The maximum size of a computed tensor: 128 MiB, which can hold a 4K RGB picture as float32.
MAX_COMPUTED_BYTES = 2**27

_DYNAMIC_HINT = "Export the model with fixed shapes, and without loops."


class Constants:
    """The model's buffers as typed arrays. Each buffer is checked and converted only once, even if several tensors
    share it."""

    def __init__(self, buffers: list[memoryview]) -> None:
        self.buffers = buffers
        self._arrays: dict[tuple[int, str], np.ndarray] = {}

    def flat(self, location: str, index: int, dtype: str) -> np.ndarray:
        """Return the buffer ``index`` as a flat, read-only array of ``dtype``, or of uint8 for a type that NumPy lacks.
        ``location`` is for error messages."""
        key = (index, dtype)
        if key not in self._arrays:
            self._arrays[key] = _flat(location, dtype, self.buffers[index])
        return self._arrays[key]


def tensor(
    subgraph: int, index: int, table: dict[str, Any], constants: Constants, repairs: Repairs
) -> Tensor:
    """Return the ``Tensor`` for ``table``, the decoded table of tensor ``index`` of a subgraph.

    ``Tensor.data`` of a constant is a read-only array. Raises ``ModelError`` for a malformed table, and
    ``UnsupportedModelError`` for a tensor that Arenite does not support.
    """
    name = table["name"] or ""
    location = tensor_at(subgraph, index, name)
    dtype = TYPE_NAMES[table["type"]]
    if dtype not in DTYPES:
        raise unsupported(
            location, "type", f"{dtype} tensors are not supported", "Quantize the model to int8."
        )
    _refuse_unsupported(location, table)
    buffer = _buffer(location, table, constants.buffers)
    shape = _shape(location, dtype, table, constant=bool(buffer))
    signature = _signature(location, shape, table, repairs)
    is_variable = table["is_variable"]
    if buffer and is_variable:
        raise unsupported(
            location, "is_variable", "a variable with an initial value is not supported", "Remove its buffer."
        )
    return Tensor(
        index=index,
        name=name,
        shape=shape,
        dtype=dtype,
        quant=quantization(location, dtype, shape, table["quantization"], repairs, constant=bool(buffer)),
        data=_constant(location, dtype, shape, constants, buffer) if buffer else None,
        is_variable=is_variable,
        shape_signature=signature,
    )


def empty_constant(t: Tensor) -> np.ndarray:
    """Return the value of a constant that has no bytes to store, because one of its dimensions is 0."""
    dtype = DTYPES[t.dtype]
    value = np.zeros(t.shape if dtype is not None else 0, dtype if dtype is not None else np.uint8)
    value.flags.writeable = False
    return value


def _refuse_unsupported(location: str, table: dict[str, Any]) -> None:
    if table["sparsity"] is not None:
        raise unsupported(
            location,
            "sparsity",
            "sparse weights are not supported",
            "Convert the model without sparse tensors.",
        )
    if table["variant_tensors"]:
        raise unsupported(
            location,
            "variant_tensors",
            "variant tensors are not supported",
            "Rewrite the model without tensor lists.",
        )
    if table["external_buffer"]:
        raise unsupported(
            location,
            "external_buffer",
            "weights in another file are not supported",
            "Save the model in one file.",
        )


def _shape(location: str, dtype: str, table: dict[str, Any], *, constant: bool) -> tuple[int, ...]:
    """Return the shape after checking its rank, its dimensions and the size of the tensor. ``constant`` is true if the
    tensor has a stored value."""
    shape: tuple[int, ...] = table["shape"] or ()
    if len(shape) > MAX_RANK:
        raise unsupported(
            location,
            "shape",
            f"has {len(shape)} dimensions, at most {MAX_RANK} are supported",
            "Reshape the tensor.",
        )
    if -1 in shape:
        raise unsupported(location, "shape", f"{list(shape)} has a dynamic dimension (-1)", _DYNAMIC_HINT)
    # Dimensions of 0 are left out of the product. The limit then also holds for other code that multiplies only some of
    # the dimensions.
    elements = 1
    for d in shape:
        if d < 0:
            raise malformed(location, "shape", f"{list(shape)} has a negative dimension")
        elements *= d or 1
    np_dtype = DTYPES[dtype]
    size = elements * (np_dtype.itemsize if np_dtype is not None else 1)
    if size >= MAX_TENSOR_BYTES:
        raise malformed(location, "shape", f"{list(shape)} has too many elements: 2 GiB or more of {dtype}")
    if size > MAX_COMPUTED_BYTES and not constant:
        raise unsupported(
            location,
            "shape",
            f"{list(shape)} of {dtype} takes {size:,} bytes, at most {MAX_COMPUTED_BYTES:,} are supported",
            "Shrink the model's input.",
        )
    return shape


def _signature(
    location: str, shape: tuple[int, ...], table: dict[str, Any], repairs: Repairs
) -> tuple[int, ...] | None:
    """Return the ``shape_signature``, or None if there is none or its only dynamic dimension is the batch. Raises
    ``ModelError`` for other dynamic dimensions and for a signature that contradicts the shape."""
    signature: tuple[int, ...] | None = table["shape_signature"]
    if not signature:  # no dimension is dynamic; old converters write an empty signature
        return None
    if len(signature) != len(shape):
        raise malformed(
            location, "shape_signature", f"{list(signature)} has another rank than the shape {list(shape)}"
        )
    for position, (dim, signature_dim) in enumerate(zip(shape, signature, strict=True)):
        if signature_dim == dim:
            continue
        if signature_dim != -1:
            raise malformed(
                location, "shape_signature", f"{list(signature)} contradicts the shape {list(shape)}"
            )
        if position != 0 or dim != 1:
            raise unsupported(
                location,
                "shape_signature",
                f"{list(signature)} has a dynamic dimension {position}",
                _DYNAMIC_HINT,
            )
    if -1 not in signature:
        return signature
    repairs.add(
        "batch",
        location,
        lambda n, first: (
            f"The dynamic batch dimension of {count_of(n, 'tensor')} (first: {first}) is fixed at 1."
        ),
    )
    return None


def _buffer(location: str, table: dict[str, Any], buffers: list[memoryview]) -> int:
    """Return the index of the buffer with the tensor's value, or 0, which is by convention the empty buffer."""
    index: int = table["buffer"]
    if index and index >= len(buffers):
        raise malformed(
            location, "buffer", f"is {index}, but the model has {count_of(len(buffers), 'buffer')}"
        )
    return index if index and len(buffers[index]) else 0


def _constant(
    location: str, dtype: str, shape: tuple[int, ...], constants: Constants, buffer: int
) -> np.ndarray:
    """Return the value of a constant that is stored in the buffer with the index ``buffer``."""
    elements = 1
    for d in shape:
        elements *= d
    raw = constants.buffers[buffer]
    np_dtype = DTYPES[dtype]
    if dtype in ("resource", "variant"):
        raise malformed(location, "buffer", f"a {dtype} tensor cannot have a constant value")
    if dtype == "string":
        count = int.from_bytes(raw[:4], "little")
        if count != elements:
            raise malformed(location, "buffer", f"holds {count} strings, expected {elements}")
        return constants.flat(location, buffer, dtype)
    bits = np_dtype.itemsize * 8 if np_dtype is not None else PACKED_BITS[dtype]
    expected = (elements * bits + 7) // 8
    if len(raw) != expected:
        raise malformed(
            location, "buffer", f"holds {len(raw):,} bytes, but {dtype} {list(shape)} takes {expected:,}"
        )
    values = constants.flat(location, buffer, dtype)
    return values if np_dtype is None else values.reshape(shape)


def _flat(location: str, dtype: str, raw: memoryview) -> np.ndarray:
    """Return the bytes ``raw`` as a flat, read-only array (see ``Constants.flat``)."""
    np_dtype = DTYPES[dtype]
    if np_dtype is None:
        if dtype == "string":
            _check_strings(location, raw)
        return np.frombuffer(raw, np.uint8)
    if np_dtype.kind == "b":
        # In TFLite any byte other than 0 is true. NumPy's bool is only defined for the bytes 0 and 1.
        values = np.frombuffer(raw, np.uint8) != 0
    else:
        values = np.frombuffer(raw, np_dtype.newbyteorder("<"))
        if not values.flags.aligned:
            values = values.copy()
    values.flags.writeable = False
    return cast(np.ndarray, values)


def _check_strings(location: str, raw: memoryview) -> None:
    """Check the bytes of a string tensor: an int32 count of strings, count + 1 int32 offsets from the first byte, and
    the characters."""
    count = int.from_bytes(raw[:4], "little")
    first = 4 * (count + 2)
    if len(raw) < first:
        raise malformed(
            location, "buffer", f"states {count} strings, which do not fit into {len(raw):,} bytes"
        )
    offsets = np.frombuffer(raw[4:first], "<i4")
    if offsets[0] != first or offsets[-1] != len(raw) or bool((offsets[1:] < offsets[:-1]).any()):
        raise malformed(location, "buffer", "the offsets of its strings are not in order")
