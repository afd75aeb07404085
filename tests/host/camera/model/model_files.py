"""Models with given inputs and outputs, and nothing of interest between them."""

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
    """Tensors of these shapes; nobody runs what is between."""
    net = Net(3)
    x = net.tensor(shape, dtype, quant=quant)
    net.inputs.append(x)
    made = [net.tensor(shape, "float32") for shape in outputs]
    net.add("CUSTOM", [x], made)
    built = net.model(made)
    (graph,) = built.subgraphs
    graph = replace(graph, ops=(replace(graph.ops[0], custom_code=custom or "Anything"),))
    return replace(built, subgraphs=(graph,), **more)
