"""A lowered model: the layers, constants and variables for writing C text and predicting sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from arenite.converters.graph.model import Model, Op
from arenite.converters.planner.plan import Plan
from arenite.firmware.generator.constants import Constant
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, StructArray
from arenite.firmware.generator.shared_arena import SharedArena
from arenite.firmware.generator.state import Variable


@dataclass(frozen=True)
class Layer:
    """One operator of the plan. ``call`` is None if the operator needs no code."""

    index: int  # position in execution order
    op: Op
    call: KernelCall | None
    macs: int
    comment: str
    streamed: bool = (
        False  # True if it runs row by row in a segment; ``call`` is then the call of its row function
    )
    second: KernelCall | None = None  # the half that the second core runs at the same time
    share: float = 1.0  # the share of the layer's work that the busier core does
    body: tuple[Op, ...] = ()  # for LOOP: the operator of each call in ``call.body``

    @property
    def all_calls(self) -> tuple[KernelCall, ...]:
        """Every kernel call of the layer, on either core."""
        calls = self.call.all if self.call is not None else ()
        return calls if self.second is None else (*calls, *self.second.all)


@dataclass(frozen=True)
class SegmentCode:
    """Consecutive layers that run row by row. ``call`` is the call of ``ar_stream_whole``, which runs them. If
    ``streamed_input`` is true, only the parameters of the call are used, because the firmware passes the input row by
    row."""

    first: int  # position of the first stage's layer
    call: KernelCall
    streamed_input: bool


@dataclass(frozen=True)
class Generated:
    """A lowered model, with the data for the C text, the size prediction and the report.

    ``image_hash`` returns the SHA-256 of the image. Sizes do not depend on it, so it is computed only for the C text.
    """

    model: Model
    plan: Plan
    prefix: str
    layers: tuple[Layer, ...]
    constants: tuple[Constant, ...]
    variables: tuple[Variable, ...]
    image_hash: Callable[[], bytes] = field(compare=False)
    name: str
    segments: tuple[SegmentCode, ...] = ()
    shared: SharedArena | None = None  # None: the model has its own arena

    @property
    def sha256(self) -> bytes:
        """The SHA-256 of the image."""
        return self.image_hash()

    @property
    def streamed_input(self) -> SegmentCode | None:
        """The segment that takes the model's input row by row; None if there is none."""
        return next((s for s in self.segments if s.streamed_input), None)

    @property
    def calls(self) -> tuple[Layer, ...]:
        """The layers that have code, in execution order. Each has one entry in ``ar_model.layers``."""
        return tuple(layer for layer in self.layers if layer.call is not None)

    @property
    def tables_beside_weights(self) -> int:
        """The bytes of tables that are stored with the weights but count as code."""
        return sum(c.table_bytes for c in self.constants)

    @property
    def parallel(self) -> bool:
        """Whether any layer is divided into halves for two cores."""
        return any(layer.second is not None for layer in self.layers)

    @property
    def engine_sources(self) -> tuple[str, ...]:
        """The base names of the kernel sources that the model needs, sorted."""
        names = {s for layer in self.calls for call in layer.all_calls for s in call.sources}
        names |= {source for segment in self.segments for source in segment.call.sources}
        if self.variables:
            names.add("state.c")
        return tuple(sorted(names))


def symbols_in(value: Any) -> Iterator[str]:
    """Yield the text of every ``Expr`` in a field value of a ``KernelCall``, for example the name of a constant or of a
    function."""
    if isinstance(value, Expr):
        yield value.text
    elif isinstance(value, StructArray):
        yield from symbols_in(value.items)
    elif isinstance(value, Mapping):
        yield from symbols_in(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from symbols_in(item)
