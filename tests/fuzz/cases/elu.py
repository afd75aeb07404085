"""Random ELU, which LiteRT has no reference kernel for: judged by its builtin kernel, whose int8 form is a table."""

from __future__ import annotations

from tests.fuzz.builder import GraphBuilder
from tests.fuzz.cases import case


@case("ELU")
def elu(b: GraphBuilder) -> None:
    # A fresh input: a graph with ELU is judged by kernels that are not the reference ones, so it stands alone.
    x = b.input(b.shape(int(b.rng.integers(1, 5))), "int8", b.quant("int8"))
    b.op("ELU", [x], [b.tensor(b[x].shape, "int8", b.quant("int8"))])
