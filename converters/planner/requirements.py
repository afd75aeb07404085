"""The memory requirements of an operator, which the planner needs in addition to the graph. They come from the
operator's lowering (the code that chooses its kernel)."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.planner.row_requirements import RowRequirements


@dataclass(frozen=True)
class OpRequirements:
    """The memory requirements of one operator.

    ``in_place`` and ``alias`` are permissions. The planner uses them only if that is safe for the other operators too.
    An input is a position in ``Op.inputs``, an output a position in ``Op.outputs``.
    """

    #: The size in bytes of the kernel's scratch buffer, which is needed only while the operator runs. The planner
    #: rounds the size up to the arena's alignment.
    scratch: int = 0
    #: (input, output): the kernel may write this output to the address of this input, which is then overwritten.
    #: The planner does so only if the output is no larger than the input and no operator reads the input afterwards.
    in_place: tuple[tuple[int, int], ...] = ()
    #: (input, output): both hold identical bytes (RESHAPE, SQUEEZE, EXPAND_DIMS). If both have the same address, the
    #: operator needs no code, and the input is not changed. For READ_VARIABLE, input 0 is a handle, and the alias
    #: is the variable that it refers to.
    alias: tuple[tuple[int, int], ...] = ()
    #: The requirements for running row by row, or None if the operator cannot run row by row.
    rows: RowRequirements | None = None
