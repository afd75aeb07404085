"""Turn the states that a program would carry, from an output of one inference to an input of the next, into resource
variables of the model. TFLite keeps their values between inferences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Op, Subgraph, Tensor
from arenite.converters.passes.producers import with_ops
from arenite.converters.tflite.verifier import defaults_of
from arenite.errors import ModelError


def with_variables(model: Model, states: Sequence[tuple[int, int]]) -> Model:
    """Return the model with a resource variable for each of ``states``: (tensor that is read, tensor that is assigned).

    No operator computes the tensors that are read. A variable is zero at first, which is the zero point of a quantized
    tensor. Raises ``ModelError`` if both tensors of a state have different types or scales.
    """
    if not states:
        return model
    main = model.main
    tensors = list(main.tensors)
    resets: list[Op] = []
    first: list[Op] = []
    last: list[Op] = []
    starts: list[Subgraph] = []

    def add(
        ops: list[Op],
        name: str,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        options: str,
        **values: object,
    ) -> None:
        ops.append(Op(0, name, inputs, outputs, {**defaults_of(options), **values}, options))

    for number, (before, after) in enumerate(states):
        t = tensors[before]
        if (t.dtype, t.shape, t.quant) != (tensors[after].dtype, tensors[after].shape, tensors[after].quant):
            raise ModelError(
                f"The state '{t.name}' is {t.dtype} {list(t.shape)} before an inference, and {tensors[after].dtype} "
                f"{list(tensors[after].shape)} with other scales or another shape after it.",
                "Convert the float model.",
            )
        variable = {"container": "", "shared_name": f"state_{number}"}
        tensors[before] = replace(t, name=f"state_{number}")
        handle = Tensor(len(tensors), f"state_{number}/handle", (), "resource")
        tensors.append(handle)
        starts.append(_start(t, variable))
        add(resets, "CALL_ONCE", (), (), "CallOnceOptions", init_subgraph_index=len(model.subgraphs) + number)
        add(first, "VAR_HANDLE", (), (handle.index,), "VarHandleOptions", **variable)
        add(first, "READ_VARIABLE", (handle.index,), (before,), "ReadVariableOptions")
        add(last, "ASSIGN_VARIABLE", (handle.index, after), (), "AssignVariableOptions")
    graph = replace(main, tensors=tuple(tensors))
    written = replace(model, subgraphs=(graph, *model.subgraphs[1:], *starts))
    ops = [replace(op, index=k) for k, op in enumerate((*resets, *first, *main.ops, *last))]
    return with_ops(written, ops)


def _start(like: Tensor, variable: dict[str, str]) -> Subgraph:
    """Return the subgraph that assigns zero to the variable with the options ``variable``."""
    dtype = DTYPES[like.dtype]
    assert dtype is not None
    zeros = np.full(like.shape, like.zero_point if like.quant is not None else 0, dtype)
    zeros.flags.writeable = False
    name = variable["shared_name"]
    tensors = (
        Tensor(0, f"{name}/handle", (), "resource"),
        Tensor(1, f"{name}/start", like.shape, like.dtype, like.quant, zeros),
    )
    options = {**defaults_of("VarHandleOptions"), **variable}
    ops = (
        Op(0, "VAR_HANDLE", (), (0,), options, "VarHandleOptions"),
        Op(1, "ASSIGN_VARIABLE", (0, 1), (), defaults_of("AssignVariableOptions"), "AssignVariableOptions"),
    )
    return Subgraph(f"start_{name}", tensors, ops, (), ())
