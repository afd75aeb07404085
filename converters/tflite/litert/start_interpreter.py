"""Load a model in LiteRT, also where LiteRT lacks an operator or a reference kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arenite.converters.graph.svdf import STATE
from arenite.converters.tflite.litert.elu_table import replace_elu_by_table
from arenite.converters.tflite.litert.operator_interpreter import OperatorInterpreter, has_custom_operator

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter


def start_interpreter(
    flatbuffer: bytes, *, exact: bool, keep: bool = False
) -> Interpreter | OperatorInterpreter:
    """Return an interpreter that has loaded ``flatbuffer`` and allocated its tensors.

    If ``exact`` is true, the model runs with the reference kernels (``BUILTIN_REF``), else with the optimized kernels
    without delegates. LiteRT has no reference kernel for ELU. Therefore an ELU of int8 values is replaced by a table of
    the results of LiteRT's optimized kernel, and a model with an ELU of float values runs with the optimized kernels.
    Tree ensembles, signal operators, and SVDF with int8 state, are computed by Arenite's NumPy code. With ``keep``,
    LiteRT keeps every tensor readable after a run.

    Raises ``ValueError`` or ``RuntimeError`` if LiteRT cannot load the model, and ``UnsupportedModelError`` if the
    model has operators that cannot run beside a tree ensemble, a signal operator or an SVDF with int8 state.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    optimized = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    kernels = OpResolverType.BUILTIN_REF if exact else optimized

    def start_operator_interpreter() -> OperatorInterpreter:
        interpreter = OperatorInterpreter(flatbuffer, kernels)
        interpreter.allocate_tensors()
        return interpreter

    def start_litert(content: bytes, kernels: OpResolverType) -> Interpreter:
        interpreter = Interpreter(
            model_content=content,
            experimental_op_resolver_type=kernels,
            experimental_preserve_all_tensors=keep,
            num_threads=1,
        )
        interpreter.allocate_tensors()
        return interpreter

    if has_custom_operator(flatbuffer):
        return start_operator_interpreter()
    try:
        interpreter = start_litert(flatbuffer, kernels)
    except ValueError as error:
        if not exact or "'ELU'" not in str(error):
            raise
        content = replace_elu_by_table(flatbuffer)
        try:
            interpreter = start_litert(content, kernels)
        except ValueError:
            interpreter = start_litert(content, optimized)
    return start_operator_interpreter() if _has_int8_state(interpreter) else interpreter


def _has_int8_state(interpreter: Interpreter) -> bool:
    """Return whether the model has an SVDF with int8 state. LiteRT loads it, but reads the state as int16."""
    states = {int(op["inputs"][STATE]) for op in interpreter._get_ops_details() if op["op_name"] == "SVDF"}
    return bool(states) and any(
        d["index"] in states and d["dtype"] is np.int8 for d in interpreter.get_tensor_details()
    )
