"""The tensor type: data type, shape, quantization and, for a constant, its value.

This module is separate from ``model.py`` because the camera loop needs only tensors to begin, so it starts sooner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Arenite's names of TFLite's tensor types (NumPy's name if NumPy has the type), and the NumPy types.
DTYPES: dict[str, np.dtype | None] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "int32": np.dtype(np.int32),
    "uint8": np.dtype(np.uint8),
    "int64": np.dtype(np.int64),
    "string": None,
    "bool": np.dtype(np.bool_),
    "int16": np.dtype(np.int16),
    "complex64": np.dtype(np.complex64),
    "int8": np.dtype(np.int8),
    "float64": np.dtype(np.float64),
    "complex128": np.dtype(np.complex128),
    "uint64": np.dtype(np.uint64),
    "resource": None,
    "variant": None,
    "uint32": np.dtype(np.uint32),
    "uint16": np.dtype(np.uint16),
    "int4": None,
    "bfloat16": None,
    "int2": None,
    "uint4": None,
    "float8_e4m3fn": None,
    "float8_e5m2": None,
}

#: Bits per element of the fixed-size types that NumPy lacks. Below 8 bits, several elements share a byte.
PACKED_BITS: dict[str, int] = {
    "int2": 2,
    "int4": 4,
    "uint4": 4,
    "bfloat16": 16,
    "float8_e4m3fn": 8,
    "float8_e5m2": 8,
}


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: real = scale * (q - zero_point), per tensor or per slice along ``axis``."""

    scale: tuple[float, ...]  # each exactly a float32, finite, > 0 (0 only for a dead channel among several)
    zero_point: tuple[int, ...]  # one per scale, each a value of the tensor's type
    axis: int = 0  # used only with more than one scale; shape[axis] is then the number of scales

    @property
    def per_axis(self) -> bool:
        return len(self.scale) > 1


@dataclass(frozen=True)
class Tensor:
    """A value of the graph.

    ``data`` is the value of a constant: a read-only array of the tensor's shape and type. It is None for a tensor that
    is computed at run time. For a type without a NumPy equivalent (``PACKED_BITS``, string) ``data`` is the file's
    bytes as a flat uint8 array.
    """

    index: int
    name: str
    #: () for a scalar; every dimension >= 0; at most 2**27 bytes (constants: 2**31 - 1).
    shape: tuple[int, ...]
    dtype: str  # a key of DTYPES
    quant: Quantization | None = None  # only for integer types
    data: np.ndarray | None = None
    is_variable: bool = False  # keeps its value between invocations (SVDF and LSTM state)
    shape_signature: tuple[int, ...] | None = None  # as in the file, without -1: a dynamic batch is set to 1
    stored: str = ""  # "int4" for an int8 constant that a file stores as int4 (see int4.py); "" otherwise

    @property
    def elements(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def itemsize(self) -> int:
        """Bytes of one element; 0 for the types of ``PACKED_BITS`` and for types that take no space in the arena
        (resource, variant, string)."""
        dtype = DTYPES[self.dtype]
        return dtype.itemsize if dtype is not None else 0

    @property
    def nbytes(self) -> int:
        return self.elements * self.itemsize

    @property
    def data_bytes(self) -> int:
        """Bytes of the constant in a file; 0 for a computed tensor."""
        if self.data is None:
            return 0
        return (self.elements + 1) // 2 if self.stored == "int4" else self.data.nbytes

    @property
    def is_constant(self) -> bool:
        return self.data is not None

    @property
    def scale(self) -> float:
        """The only scale of a per-tensor quantized tensor (ValueError otherwise)."""
        if self.quant is None or len(self.quant.scale) != 1:
            raise ValueError(f"tensor {self.index} '{self.name}' is not quantized per tensor")
        return self.quant.scale[0]

    @property
    def zero_point(self) -> int:
        """The only zero point of a per-tensor quantized tensor (ValueError otherwise)."""
        if self.quant is None or len(self.quant.zero_point) != 1:
            raise ValueError(f"tensor {self.index} '{self.name}' is not quantized per tensor")
        return self.quant.zero_point[0]
