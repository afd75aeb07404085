"""Give a quantized model float32 inputs and outputs, for runtimes that refuse integer ones.

The network itself stays as it is: a QUANTIZE before it and a DEQUANTIZE behind it convert at its edges.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Op, Tensor

#: The integer types that QUANTIZE and DEQUANTIZE convert, and the versions of the two operators that can do it.
_VERSIONS = {"int8": (1, 2), "uint8": (1, 1), "int16": (3, 3)}


def has_float_edge(tensor: Tensor) -> bool:
    """Whether ``with_float_edges`` converts this input or output: an integer tensor with one scale."""
    return tensor.dtype in _VERSIONS and tensor.quant is not None and not tensor.quant.per_axis


def with_float_edges(model: Model) -> Model:
    """Return ``model`` with float32 tensors instead of the quantized inputs and outputs of its main subgraph.

    Tensors, names and shapes of the other inputs and outputs do not change. Metadata, which may describe the types of
    inputs and outputs, is left out.
    """
    graph = model.main
    tensors = list(graph.tensors)

    def float_tensor(index: int) -> int:
        tensor = tensors[index]
        tensors.append(
            replace(
                tensor,
                index=len(tensors),
                name=f"{tensor.name}_float",
                dtype="float32",
                quant=None,
                data=None,
            )
        )
        return len(tensors) - 1

    before, after = [], []
    inputs = {i: float_tensor(i) for i in graph.inputs if has_float_edge(tensors[i])}
    for index, real in inputs.items():
        version = _VERSIONS[tensors[index].dtype][0]
        before.append(Op(0, "QUANTIZE", (real,), (index,), {}, "QuantizeOptions", version))
    outputs = {i: float_tensor(i) for i in dict.fromkeys(graph.outputs) if has_float_edge(tensors[i])}
    for index, real in outputs.items():
        version = _VERSIONS[tensors[index].dtype][1]
        after.append(Op(0, "DEQUANTIZE", (index,), (real,), {}, "DequantizeOptions", version))
    main = replace(
        graph,
        tensors=tuple(tensors),
        ops=tuple(replace(op, index=k) for k, op in enumerate([*before, *graph.ops, *after])),
        inputs=tuple(inputs.get(i, i) for i in graph.inputs),
        outputs=tuple(outputs.get(i, i) for i in graph.outputs),
    )
    signatures = tuple(
        replace(
            s,
            inputs=tuple((name, inputs.get(i, i)) for name, i in s.inputs),
            outputs=tuple((name, outputs.get(i, i)) for name, i in s.outputs),
        )
        if s.subgraph == 0
        else s
        for s in model.signatures
    )
    return replace(model.with_main(main), signatures=signatures, metadata={})


def real_values(tensor: Tensor, stored: np.ndarray) -> np.ndarray:
    """Return the real numbers of quantized values, as float32. QUANTIZE with the scale and the zero point of ``tensor``
    gives the quantized values again."""
    return ((stored.astype(np.int32) - tensor.zero_point) * tensor.scale).astype(np.float32)


def quantized_values(tensor: Tensor, real: np.ndarray) -> np.ndarray:
    """Return the values of the type of ``tensor`` nearest to the real numbers ``real``. Numbers outside its range
    become the nearest value in the range, and those that are not a number its zero point."""
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None
    limits = np.iinfo(dtype)
    steps = np.nan_to_num(np.rint(real.astype(np.float64) / tensor.scale), posinf=1e9, neginf=-1e9)
    values: np.ndarray = np.clip(steps + tensor.zero_point, limits.min, limits.max).astype(dtype)
    return values
