"""Random ELU operators. LiteRT has no reference kernel for ELU, so they are compared with its builtin int8 kernel,
which uses a table."""

from __future__ import annotations

from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder


@case("ELU", alone=True)
def elu(b: GraphBuilder) -> None:
    x = b.pick(("int8",))
    b.op("ELU", [x], [b.tensor(b[x].shape, "int8", b.quant("int8"))])
