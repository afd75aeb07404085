"""The classes of a plan: the execution order, and the arena address of every tensor, scratch and variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arenite.errors import PlanError

SCHEMA = "arenite.plan/1"

#: The default alignment of every block, in bytes. The engine needs at most 8 (int64 elements, LDRD). Vector loads are
#: faster with 16, and stock TensorFlow Lite Micro uses the offsets of an image only if they are multiples of 16.
ALIGNMENT = 16


@dataclass(frozen=True)
class SearchStatistics:
    """Statistics of the searches. Budgets count nodes, never seconds, so that a plan is the same on every machine."""

    order_nodes: int = 0  # states expanded by the order search; 0 when a bound made it unnecessary
    order_budget: int = 0
    offset_nodes: int = 0  # placements tried by the exact offset search; 0 when a heuristic met the bound
    offset_budget: int = 0
    #: Largest sum of live bytes over the steps, for this order and these shared buffers.
    live_bound: int = 0
    #: A lower bound of the arena for every order of this graph.
    graph_bound: int = 0


@dataclass(frozen=True)
class Segment:
    """Operators that run together, row by row.

    ``rows`` has the offset of each row of the tensors that are never completely in memory, because only stages of this
    segment read them. Their rows may have the address of an earlier row, of this or another tensor, that no later step
    reads. Rows of all other tensors are in memory one after the other, from the tensor's offset on.
    """

    stages: tuple[int, ...]  # operators, next to each other in the plan's order
    sources: tuple[int, ...]  # tensors that the stages read and do not write
    #: One entry per step: the index into ``stages`` of the stage that computes its next row. In a step in which the
    #: next row of the streamed input arrives, the entry is the input's index into ``sources`` plus the number of
    #: stages.
    schedule: tuple[int, ...]
    rows: Mapping[int, tuple[int, ...]]  # tensor -> offset of each row, in bytes from the start of the arena
    state_offset: int  # offset of the working memory, see row_requirements.StateLayout
    state_bytes: int
    streamed_input: int | None = None  # the graph input whose rows arrive one by one; None if there is none


@dataclass(frozen=True)
class MemorySplit:
    """An arena in two memories. Arena addresses below ``fast_bytes`` are in the first memory. The second memory
    begins at address ``fast_bytes``. Every block is completely in one memory.

    ``preferred_slow`` is true if the second memory is the faster memory. ``accesses`` is the estimated number of
    loads and stores of one inference in the slower memory, which the planner minimizes.
    """

    fast_bytes: int  # a multiple of the plan's alignment
    accesses: int
    bound: int  # a lower bound of ``accesses`` for this order and these shared buffers
    status: str  # "optimal": accesses == bound; "gap": the search ended before it was proven optimal
    preferred_slow: bool = False


@dataclass(frozen=True)
class Plan:
    """The execution order, and the addresses of tensors, scratch and variables in bytes from the start of the arena."""

    order: tuple[int, ...]  # operator indices in execution order; folded operators are absent
    offsets: Mapping[int, int]  # tensor index -> offset, for every tensor that takes arena (variables too)
    scratch_offsets: Mapping[int, int]  # operator index -> offset of its kernel scratch
    variable_offsets: Mapping[str, int]  # resource variable's name -> offset
    arena_bytes: int  # end of the highest block, a multiple of ``alignment``
    lower_bound: int  # no offsets for this order and these shared buffers give a smaller arena
    status: str  # "optimal": arena_bytes == lower_bound; "gap": the budget ended before it was proven optimal
    alignment: int = ALIGNMENT
    #: Whether it is proven that no other order has a smaller peak of live bytes.
    order_proven: bool = False
    #: (operator, input position, output position) of every output that has the address of an input.
    sharing: tuple[tuple[int, int, int], ...] = ()
    statistics: SearchStatistics = field(default_factory=SearchStatistics)
    #: The operators that run row by row. All other operators compute complete tensors. The offset of a tensor of
    #: ``Segment.rows`` is its lowest row, and the scratch of a streamed operator is the scratch for one row.
    segments: tuple[Segment, ...] = ()
    #: The two memories of the arena, or None if the arena is in one memory.
    split: MemorySplit | None = None

    @property
    def fast_bytes(self) -> int:
        """The arena bytes in the first memory, which also holds the stack and all other data."""
        return self.arena_bytes if self.split is None else self.split.fast_bytes

    @property
    def slow_bytes(self) -> int:
        """The arena bytes in the second memory; 0 for a plan for one memory."""
        return self.arena_bytes - self.fast_bytes

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object, from which ``from_json`` makes an equal plan."""
        record = self._to_json()
        if self.segments:
            record["segments"] = [
                _segment_record(s) | {"rows": {str(k): list(s.rows[k]) for k in sorted(s.rows)}}
                for s in self.segments
            ]
        if self.split is not None:
            record["split"] = dict(vars(self.split))
        return record

    def _to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "order": list(self.order),
            "offsets": {str(k): self.offsets[k] for k in sorted(self.offsets)},
            "scratch_offsets": {str(k): self.scratch_offsets[k] for k in sorted(self.scratch_offsets)},
            "variable_offsets": {k: self.variable_offsets[k] for k in sorted(self.variable_offsets)},
            "arena_bytes": self.arena_bytes,
            "lower_bound": self.lower_bound,
            "status": self.status,
            "alignment": self.alignment,
            "order_proven": self.order_proven,
            "sharing": [list(s) for s in self.sharing],
            "statistics": dict(vars(self.statistics)),
        }

    @staticmethod
    def from_json(record: object) -> Plan:
        """Return the plan of a JSON object, which may come from a file. Raises ``PlanError`` if the object is
        malformed.

        This does not check the plan. Use ``planner.check`` to find out whether the plan is valid for a graph.
        """
        try:
            return _read(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PlanError(
                f"The stored plan is malformed: {type(error).__name__}: {error}.", "Convert the model again."
            ) from error


def _count(value: object) -> int:
    """Return ``value`` if it is an integer of at least 0. Raises ``ValueError`` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _segment(record: Mapping[str, Any]) -> Segment:
    """Return the segment of a JSON object (see ``_segment_record``)."""
    return Segment(
        stages=tuple(_count(v) for v in record["stages"]),
        sources=tuple(_count(v) for v in record["sources"]),
        schedule=tuple(_count(v) for v in record["schedule"]),
        rows={int(k): tuple(_count(v) for v in places) for k, places in record["rows"].items()},
        state_offset=_count(record["state_offset"]),
        state_bytes=_count(record["state_bytes"]),
        streamed_input=None if record["pushed"] is None else _count(record["pushed"]),
    )


def _split(record: Mapping[str, Any]) -> MemorySplit:
    """Return the memory split of a JSON object."""
    if record["status"] not in ("optimal", "gap") or not isinstance(record["preferred_slow"], bool):
        raise ValueError(f"split {record!r} has an invalid status or preferred_slow")
    counts = {name: _count(record[name]) for name in ("fast_bytes", "accesses", "bound")}
    return MemorySplit(**counts, status=record["status"], preferred_slow=record["preferred_slow"])


def _read(record: object) -> Plan:
    """Return the plan of a JSON object. Raises the errors that ``Plan.from_json`` turns into ``PlanError``."""
    if not isinstance(record, dict):
        raise TypeError("not an object")
    if record["schema"] != SCHEMA:
        raise ValueError(f"schema {record['schema']!r}, expected {SCHEMA!r}")
    if record["status"] not in ("optimal", "gap"):
        raise ValueError(f"status {record['status']!r}, expected 'optimal' or 'gap'")
    if not isinstance(record["order_proven"], bool):
        raise ValueError(f"order_proven {record['order_proven']!r}, expected a bool")
    sharing = tuple(tuple(_count(v) for v in s) for s in record["sharing"])
    if any(len(s) != 3 for s in sharing):
        raise ValueError("sharing is not a list of triples")
    return Plan(
        order=tuple(_count(v) for v in record["order"]),
        offsets={int(k): _count(v) for k, v in record["offsets"].items()},
        scratch_offsets={int(k): _count(v) for k, v in record["scratch_offsets"].items()},
        variable_offsets={str(k): _count(v) for k, v in record["variable_offsets"].items()},
        arena_bytes=_count(record["arena_bytes"]),
        lower_bound=_count(record["lower_bound"]),
        status=record["status"],
        alignment=_count(record["alignment"]),
        order_proven=record["order_proven"],
        sharing=tuple((s[0], s[1], s[2]) for s in sharing),
        statistics=SearchStatistics(**{k: _count(v) for k, v in record["statistics"].items()}),
        segments=tuple(_segment(s) for s in record.get("segments", ())),
        split=_split(record["split"]) if "split" in record else None,
    )


def _segment_record(segment: Segment) -> dict[str, Any]:
    """Return {name in the image's metadata: value} for the fields of ``segment``. ``streamed_input`` is called "pushed"
    there."""
    return {"pushed" if name == "streamed_input" else name: value for name, value in vars(segment).items()}
