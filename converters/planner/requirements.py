"""The facts about an operator that the planner needs beyond the graph; the operator's lowering states them."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.planner.row_requirements import RowRequirements


@dataclass(frozen=True)
class OpRequirements:
    """Memory facts of one operator.

    ``in_place`` and ``alias`` are permissions; the planner uses one only when it is safe for the rest of the graph too.
    Positions index ``Op.inputs`` and ``Op.outputs``.
    """

    #: Bytes of kernel scratch, live only while the operator runs; the planner rounds them up to its alignment.
    scratch: int = 0
    #: (input, output): the kernel may write this output at the exact address of this input, which it consumes.
    #: The planner uses it only if the output is no larger than the input and nothing reads the input afterwards.
    in_place: tuple[tuple[int, int], ...] = ()
    #: (input, output): both hold identical bytes (RESHAPE, SQUEEZE, EXPAND_DIMS); at one address no code is needed, and
    #: the input stays readable afterwards. For READ_VARIABLE input 0 stands for the variable behind the handle.
    alias: tuple[tuple[int, int], ...] = ()
    #: How the operator runs row by row; None where it cannot.
    rows: RowRequirements | None = None
