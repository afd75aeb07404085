"""Load a model in LiteRT, also where LiteRT lacks an operator or a reference kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arenite.converters.graph.svdf import STATE
from arenite.converters.tflite.litert.elu_table import replace_elu_by_table
from arenite.converters.tflite.litert.operator_interpreter import OperatorInterpreter, has_tree_operator

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter


def start_interpreter(
    flatbuffer: bytes, *, exact: bool, keep: bool = False
) -> Interpreter | OperatorInterpreter:
    """Return an interpreter of ``flatbuffer`` with allocated tensors.

    ``exact`` selects the reference kernels (``BUILTIN_REF``) instead of the optimized kernels without delegates. LiteRT
    has only one kernel for ELU, which is no reference kernel, so an ELU of int8 values is replaced by a table of that
    kernel's results; a model with an ELU of float values runs with the optimized kernels. Tree ensembles, and SVDF with
    int8 state, run with their NumPy references. With ``keep``, every tensor stays readable after a run.

    Raises ``ValueError`` or ``RuntimeError`` if LiteRT refuses the model.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    optimized = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    kernels = OpResolverType.BUILTIN_REF if exact else optimized

    def by_operator() -> OperatorInterpreter:
        interpreter = OperatorInterpreter(flatbuffer, kernels)
        interpreter.allocate_tensors()
        return interpreter

    def start(content: bytes, kernels: OpResolverType) -> Interpreter:
        interpreter = Interpreter(
            model_content=content,
            experimental_op_resolver_type=kernels,
            experimental_preserve_all_tensors=keep,
            num_threads=1,
        )
        interpreter.allocate_tensors()
        return interpreter

    if has_tree_operator(flatbuffer):
        return by_operator()
    try:
        interpreter = start(flatbuffer, kernels)
    except ValueError as error:
        if not exact or "'ELU'" not in str(error):
            raise
        content = replace_elu_by_table(flatbuffer)
        try:
            interpreter = start(content, kernels)
        except ValueError:
            interpreter = start(content, optimized)
    return by_operator() if _has_int8_state(interpreter) else interpreter


def _has_int8_state(interpreter: Interpreter) -> bool:
    """Return whether the model has an SVDF with int8 state. LiteRT loads it, but reads the state as int16."""
    states = {int(op["inputs"][STATE]) for op in interpreter._get_ops_details() if op["op_name"] == "SVDF"}
    return bool(states) and any(
        d["index"] in states and d["dtype"] is np.int8 for d in interpreter.get_tensor_details()
    )
