"""Replace ELU by a table, because LiteRT's reference kernels do not include it.

LiteRT's only kernel for ELU of int8 values looks up each value in a table. The operators CAST, ADD and GATHER can
look up the same table, and they have reference kernels. So all operators of a model with ELU can run on reference
kernels. This matters because the optimized kernels of other operators round differently.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.verifier import defaults_of
from arenite.converters.tflite.writer import to_flatbuffer

_VALUES = np.arange(-128, 128, dtype=np.int8)


def replace_elu_by_table(flatbuffer: bytes) -> bytes:
    """Return the model with each ELU of int8 values in its main subgraph replaced by CAST, ADD and GATHER. If there
    is no such ELU, the bytes are returned unchanged. Existing tensors keep their indices."""
    model = parse(flatbuffer)
    tensors = list(model.main.tensors)
    ops: list[Op] = []

    def add(name: str, template: Tensor, data: np.ndarray | None = None) -> int:
        tensors.append(replace(template, index=len(tensors), name=name, data=data))
        return len(tensors) - 1

    for op in model.main.ops:
        source = tensors[op.inputs[0]] if op.inputs else None
        if op.name != "ELU" or source is None or source.dtype != "int8":
            ops.append(op)
            continue
        out = tensors[op.outputs[0]]
        int32 = Tensor(0, "", source.shape, "int32")
        cast, position = add(f"{out.name}/cast", int32), add(f"{out.name}/place", int32)
        half = add(f"{out.name}/half", Tensor(0, "", (1,), "int32"), _read_only(np.array([128], np.int32)))
        table = add(f"{out.name}/table", replace(out, shape=(256,)), _read_only(_table(source, out)))
        ops += [
            Op(0, "CAST", (op.inputs[0],), (cast,), {}, ""),
            Op(0, "ADD", (cast, half), (position,), defaults_of("AddOptions"), "AddOptions"),
            Op(0, "GATHER", (table, position), op.outputs, defaults_of("GatherOptions"), "GatherOptions", 2),
        ]
    if len(ops) == len(model.main.ops):
        return flatbuffer
    numbered = tuple(replace(op, index=k) for k, op in enumerate(ops))
    main = replace(model.main, tensors=tuple(tensors), ops=numbered)
    return to_flatbuffer(replace(model.with_main(main), repairs=()))


def _table(source: Tensor, out: Tensor) -> np.ndarray:
    """Return the results of LiteRT's ELU kernel for the values -128 to 127: int8 [256]."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    tensors = (
        replace(source, index=0, shape=(256,), data=None),
        replace(out, index=1, shape=(256,), data=None),
    )
    one = Subgraph("main", tensors, (Op(0, "ELU", (0,), (1,), {}, ""),), (0,), (1,))
    interpreter = Interpreter(
        model_content=to_flatbuffer(Model((one,))),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], _VALUES)
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


def _read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values
