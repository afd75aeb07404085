"""Random operators, one function per operator: ``@case("CONV_2D") def conv_2d(b): ...`` appends to builder ``b``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from tests.fuzz.graph_builder import GraphBuilder

CASES: dict[str, Callable[[GraphBuilder], None]] = {}

#: Operators that never share a graph with others, because LiteRT runs such a graph without its reference kernels.
ALONE: set[str] = set()


def case(
    op_name: str, *, alone: bool = False
) -> Callable[[Callable[[GraphBuilder], None]], Callable[[GraphBuilder], None]]:
    """Register a function that appends one random ``op_name`` to a graph, with inputs from ``b.pick``."""
    if alone:
        ALONE.add(op_name)

    def add(function: Callable[[GraphBuilder], None]) -> Callable[[GraphBuilder], None]:
        if op_name in CASES:
            raise ValueError(f"two cases for {op_name}")
        CASES[op_name] = function
        return function

    return add


def load_all() -> dict[str, Callable[[GraphBuilder], None]]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return CASES
