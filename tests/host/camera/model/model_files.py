"""Make model files with given inputs and outputs, for tests that open models but do not run them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arenite.converters.graph.model import Model, Quantization
from tests.converters.small_models import Net


def model(
    shape: tuple[int, ...] = (1, 4, 6, 3),
    dtype: str = "float32",
    quant: Quantization | None = None,
    outputs: tuple[tuple[int, ...], ...] = ((1, 7),),
    custom: str = "",
    **more: Any,
) -> Model:
    """Return a model with one custom operator from an input of ``shape`` to outputs of the shapes ``outputs``.
    ``custom`` is the name of the operator, and ``more`` replaces fields of the model."""
    net = Net(3)
    x = net.tensor(shape, dtype, quant=quant)
    net.inputs.append(x)
    output_tensors = [net.tensor(shape, "float32") for shape in outputs]
    net.add("CUSTOM", [x], output_tensors)
    built = net.model(output_tensors)
    (graph,) = built.subgraphs
    graph = replace(graph, ops=(replace(graph.ops[0], custom_code=custom or "Anything"),))
    return replace(built, subgraphs=(graph,), **more)
