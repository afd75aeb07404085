"""Functions that append a random operator to a graph: one function per operator, registered by name.

An example is ``@case("CONV_2D") def conv_2d(b): ...``, where ``b`` is the builder of the graph.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from tests.fuzz.graph_builder import GraphBuilder

CASES: dict[str, Callable[[GraphBuilder], None]] = {}

#: Operators that a graph does not combine with other operators, because LiteRT runs their graphs without its reference
#: kernels.
ALONE: set[str] = set()


def case(
    op_name: str, *, alone: bool = False
) -> Callable[[Callable[[GraphBuilder], None]], Callable[[GraphBuilder], None]]:
    """Return a decorator that registers a function which appends one random ``op_name`` to a graph.

    The function gets its inputs from ``b.pick``. ``alone`` adds the operator to ``ALONE``.
    """
    if alone:
        ALONE.add(op_name)

    def add(function: Callable[[GraphBuilder], None]) -> Callable[[GraphBuilder], None]:
        if op_name in CASES:
            raise ValueError(f"two cases for {op_name}")
        CASES[op_name] = function
        return function

    return add


def load_all() -> dict[str, Callable[[GraphBuilder], None]]:
    """Import all modules of this package. Return the functions that they registered, by the name of the operator."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return CASES
