"""Pack and unpack int4 constants: two values per byte in the file, one value per byte in memory.

A TFLite file stores two int4 values in each byte, the first in the low half. If the number of values is odd, the high
half of the last byte is unused. All passes and lowerings work on int8 weights, so ``int8_weights`` unpacks int4 weights
once after reading. ``Tensor.stored`` records that they were int4, and the writer packs them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Subgraph

#: Operators that give the same results in LiteRT for int4 weights as for int8 weights with the same values, and the
#: position of the weights among their inputs.
WEIGHTS_POSITION = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "FULLY_CONNECTED": 1}


def unpack_int4_weights(packed: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return the values of an int4 constant as an int8 array of ``shape``. ``packed`` has the bytes of the constant
    in the file, as a flat uint8 array."""
    halves = np.stack([packed & 15, packed >> 4], axis=-1).reshape(-1)
    values = (halves.astype(np.int8) ^ 8) - 8  # sign extension of 4 bits
    unpacked = values[: int(np.prod(shape, dtype=np.int64))].astype(np.int8).reshape(shape)
    unpacked.flags.writeable = False
    return unpacked


def pack_int4_weights(values: np.ndarray) -> np.ndarray:
    """Return the bytes of an int4 constant in a file, as a flat uint8 array. Raises ``ValueError`` if one of
    ``values`` is not from -8 to 7."""
    if values.size and (int(values.min()) < -8 or int(values.max()) > 7):
        raise ValueError("int4 values must be between -8 and 7")
    halves = values.reshape(-1).astype(np.int8).view(np.uint8) & 15
    halves = np.pad(halves, (0, len(halves) % 2))
    return (halves[0::2] | halves[1::2] << 4).astype(np.uint8)


def int8_weights(model: Model) -> Model:
    """Return the model with int4 weights as int8 tensors whose ``stored`` is "int4". A model without int4 weights is
    returned unchanged.

    A tensor is unpacked only if every reader uses it as weights. Other int4 tensors stay unchanged.
    """
    unpacked = tuple(_int8_weights(g) for g in model.subgraphs)
    same = all(a is b for a, b in zip(unpacked, model.subgraphs, strict=True))
    return model if same else replace(model, subgraphs=unpacked)


def _int8_weights(graph: Subgraph) -> Subgraph:
    """Return ``int8_weights`` of one subgraph."""
    int4_tensors = {t.index for t in graph.tensors if t.dtype == "int4" and t.data is not None}
    if not int4_tensors:
        return graph
    int4_tensors -= {*graph.inputs, *graph.outputs}
    for op in graph.ops:
        int4_tensors -= {t for p, t in enumerate(op.inputs) if WEIGHTS_POSITION.get(op.name) != p}
    if not int4_tensors:
        return graph
    tensors = list(graph.tensors)
    for index in int4_tensors:
        t = tensors[index]
        assert t.data is not None
        tensors[index] = replace(t, dtype="int8", data=unpack_int4_weights(t.data, t.shape), stored="int4")
    return replace(graph, tensors=tuple(tensors))
