"""Draw the arena over time. Each tensor or buffer is a rectangle: the x axis has the operators in execution order, the
y axis has the address in bytes.

The picture loads no script or font and follows the reader's light or dark scheme. Every rectangle has a tooltip. The
picture works alone or inside a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from arenite.converters.graph.model import Subgraph
from arenite.converters.graph.resource_variables import handle_names
from arenite.converters.graph.signal.operators import signal_states
from arenite.converters.planner.lifetimes import (
    ArenaRequirements,
    arena_requirements,
    lifetimes,
    value_lifetimes,
)
from arenite.converters.planner.lower_bound import live_bytes
from arenite.converters.planner.plan import Plan, Segment
from arenite.converters.planner.requirements import OpRequirements

#: Maps the kind of a block to (name in the legend, color in the light scheme, color in the dark scheme).
_KINDS = {
    "input": ("input", "#2f6fb5", "#5b9be0"),
    "activation": ("activation", "#9aa9bb", "#5f7084"),
    "output": ("output", "#3f8f4f", "#63b573"),
    "scratch": ("kernel scratch", "#d07f26", "#e39a52"),
    "variable": ("variable", "#8a5bb0", "#b58add"),
}

# In pixels: the margins left, right and above, the height of the plot, and the space below it for the operators' names.
_LEFT, _RIGHT, _TOP, _HEIGHT, _FOOT = 84, 24, 54, 380, 150
# In pixels: the width of a character of the block labels, and of the legend.
_CHAR, _LEGEND_CHAR = 5.6, 6.2


def _style() -> str:
    light = "".join(f".ar-{k}{{fill:{v[1]}}}" for k, v in _KINDS.items())
    dark = "".join(f".ar-{k}{{fill:{v[2]}}}" for k, v in _KINDS.items())
    return (
        ".ar-map text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-map .ar-soft{fill:#5b6675}"
        ".ar-map .ar-in{font-size:10px;fill:#fff;pointer-events:none}.ar-map .ar-activation-in{fill:#10161e}"
        ".ar-grid{stroke:#d6dce4;stroke-width:1}.ar-paper{fill:#fff}.ar-peak{fill:#b3261e}"
        ".ar-block{stroke:#fff;stroke-width:1}.ar-block:hover{stroke:#1c2430;stroke-width:2}"
        ".ar-bound{stroke:#b3261e;stroke-width:1.5;stroke-dasharray:6 4}.ar-map .ar-bound-text{fill:#b3261e}"
        f".ar-hand{{stroke:#10161e;stroke-width:1.5;stroke-dasharray:3 2}}{light}"
        "@media (prefers-color-scheme:dark){.ar-map text{fill:#e4e9f0}.ar-map .ar-soft{fill:#9aa7b8}"
        ".ar-map .ar-in{fill:#10161e}.ar-map .ar-activation-in{fill:#fff}.ar-grid{stroke:#38424f}"
        ".ar-paper{fill:#14181e}.ar-peak{fill:#ff8a80}.ar-block{stroke:#14181e}.ar-block:hover{stroke:#fff}"
        ".ar-bound{stroke:#ff8a80}.ar-map .ar-bound-text{fill:#ff8a80}"
        f".ar-hand{{stroke:#fff}}{dark}}}"
    )


@dataclass(frozen=True)
class _Block:
    """A rectangle of the picture. ``offset`` and ``nbytes`` are its bytes in the arena, ``title`` is its tooltip."""

    kind: str
    start: float  # in steps (positions in the execution order); ends in .5 if an output replaces an input in place
    end: float
    offset: int
    nbytes: int
    label: tuple[str, str]  # the tensor's number or the block's name, and its size
    title: str
    is_in_place: bool = False


def arena_svg(
    graph: Subgraph,
    plan: Plan,
    needs: Sequence[OpRequirements],
    *,
    persistent: Mapping[str, int] | None = None,
) -> str:
    """Return an SVG element that shows the arena plan ``plan``.

    ``needs`` has the requirements of each operator. ``persistent`` has the bytes of each resource variable; by default
    they come from the operators that read and assign the variables. A variable without such operators is not drawn.
    """
    if persistent is None:
        persistent = _variable_sizes(graph)
    requirements, blocks = _blocks(graph, plan, needs, persistent)
    steps = max(len(plan.order), 1)
    # The plot is 960 pixels wide if a step then has 22 to 96 pixels.
    step_width = min(max(960 / steps, 22.0), 96.0)
    canvas = _Canvas(step_width, steps, max(plan.arena_bytes, plan.alignment, 1))
    parts = [
        f'<rect class="ar-paper" width="{canvas.width:.0f}" height="{canvas.height}"/>',
        *_axes(graph, plan, canvas),
        *(_rectangle(b, canvas) for b in blocks),
        *_peaks(requirements, plan, canvas),
        *_bound(plan, canvas),
        *_legend({b.kind for b in blocks}, any(b.is_in_place for b in blocks)),
    ]
    label = f"Arena of {plan.arena_bytes:,} bytes over {len(plan.order)} operators"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-map" role="img" aria-label="{label}" '
        f'width="{canvas.width:.0f}" height="{canvas.height}" viewBox="0 0 {canvas.width:.0f} {canvas.height}" '
        f'style="max-width:none">\n<style>{_style()}</style>\n' + "\n".join(parts) + "\n</svg>"
    )


@dataclass(frozen=True)
class _Canvas:
    """The size of the plot, and the conversion of steps and addresses to pixels. ``arena`` is the size of the arena in
    bytes."""

    step_width: float  # pixels per step
    steps: int
    arena: int

    @property
    def width(self) -> float:
        return max(_LEFT + self.step_width * self.steps + _RIGHT, 640)

    @property
    def right(self) -> float:
        return _LEFT + self.step_width * self.steps

    @property
    def height(self) -> int:
        return _TOP + _HEIGHT + _FOOT

    def x(self, step: float) -> float:
        return _LEFT + self.step_width * step

    def y(self, address: float) -> float:
        return _TOP + _HEIGHT * (1 - address / self.arena)


def _blocks(
    graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements], persistent: Mapping[str, int]
) -> tuple[ArenaRequirements, list[_Block]]:
    """Return the requirements of the arena, and the rectangles of all tensors, scratch buffers and variables."""
    running = set(plan.order)
    requirements = arena_requirements(
        graph,
        needs,
        alignment=plan.alignment,
        persistent=persistent,
        folded=[op.index for op in graph.ops if op.index not in running],
        alias=_has_aliases(graph, plan, needs),
    )
    value_spans = value_lifetimes(requirements, plan.order)
    shared = {
        (requirements.value_of.get(graph.ops[k].input(i)), requirements.value_of.get(graph.ops[k].outputs[o]))
        for k, i, o in plan.sharing
    }
    overwritten_values = {a for a, b in shared if a != b}
    in_place_values = {b for a, b in shared if a != b}
    blocks = []
    streamed = _Streamed(graph, plan)
    for v, value in enumerate(requirements.values):
        first = value.tensors[0]
        start, end = streamed.span(value.tensors, *value_spans[v])
        kind = "variable" if value.is_variable else "output" if value.stays else "activation"
        if first in graph.inputs and kind == "activation":
            kind = "input"
        # If an operator works in place, input and output share the block. The change is drawn in the middle of the
        # step.
        drawn_span = (start + 0.5 * (v in in_place_values), end - 0.5 * (v in overwritten_values))
        lines = [_tensor_line(graph, t) for t in value.tensors]
        lines += streamed.remarks(value.tensors)
        if v in in_place_values:
            lines.append("computed in place")
        if len(value.tensors) > 1:
            lines.append("the same bytes, with several shapes")
        name = " = ".join(f"#{t}" for t in value.tensors)
        for offset, nbytes in streamed.places(value.tensors):
            title = "\n".join([*lines, _interval(plan, offset, nbytes, start, end)])
            label = (name, f"{nbytes:,} B")
            blocks.append(_Block(kind, *drawn_span, offset, nbytes, label, title, v in in_place_values))
    step = {k: p for p, k in enumerate(plan.order)}
    for k, offset in plan.scratch_offsets.items():
        rows = needs[k].rows
        by_rows = k in streamed.segment_of and rows is not None
        nbytes, p = rows.scratch if by_rows and rows is not None else needs[k].scratch, step[k]
        title = f"scratch of {graph.ops[k].name}\n{_interval(plan, offset, nbytes, p, p + 1)}"
        blocks.append(_Block("scratch", p, p + 1, offset, nbytes, ("scratch", f"{nbytes:,} B"), title))
    for segment in plan.segments:
        first, last = step[segment.stages[0]], step[segment.stages[-1]] + 1
        title = f"row counts and sums of {last - first} operators that run row by row"
        title += "\n" + _interval(plan, segment.state_offset, segment.state_bytes, first, last)
        label = ("rows", f"{segment.state_bytes:,} B")
        state_offset = segment.state_offset
        blocks.append(_Block("scratch", first, last, state_offset, segment.state_bytes, label, title))
    for name, offset in plan.variable_offsets.items():
        if name not in persistent:
            continue
        nbytes, end = persistent[name], max(len(plan.order), 1)
        read = [_tensor_line(graph, t) for t, variable in requirements.views.items() if variable == name]
        lines = [f"variable {name}", *(f"read in place as {line}" for line in read)]
        title = "\n".join([*lines, _interval(plan, offset, nbytes, 0, end)])
        blocks.append(_Block("variable", 0, end, offset, nbytes, (name, f"{nbytes:,} B"), title))
    return requirements, blocks


class _Streamed:
    """Computes the blocks of tensors that operators compute row by row (streamed segments). Some of these tensors are
    never completely in memory: each of their rows has an address, which is reserved during the complete segment in the
    picture."""

    def __init__(self, graph: Subgraph, plan: Plan) -> None:
        self.graph = graph
        self.plan = plan
        self.step = {k: p for p, k in enumerate(plan.order)}
        self.segment_of = {k: s for s in plan.segments for k in s.stages}
        self.rows = {t: offsets for s in plan.segments for t, offsets in s.rows.items()}
        self.users: dict[int, list[Segment]] = {}  # tensor -> segments that stream it
        for segment in plan.segments:
            read_or_written = {
                t for k in segment.stages for t in (*graph.ops[k].inputs, *graph.ops[k].outputs)
            }
            for t in read_or_written & plan.offsets.keys():
                self.users.setdefault(t, []).append(segment)

    def span(self, tensors: Sequence[int], start: int, end: int) -> tuple[int, int]:
        """Return the steps [start, end), widened to the segments that stream one of ``tensors``."""
        for segment in (s for t in tensors for s in self.users.get(t, ())):
            start = min(start, self.step[segment.stages[0]])
            end = max(end, self.step[segment.stages[-1]] + 1)
        return start, end

    def places(self, tensors: Sequence[int]) -> list[tuple[int, int]]:
        """Return the offset and the bytes of each place in memory of ``tensors``, which share their memory. Adjacent
        rows are one place."""
        for t in tensors:
            if t in self.rows:
                row_bytes = self.graph.tensors[t].nbytes // len(self.rows[t])
                return _joined(sorted((offset, row_bytes) for offset in set(self.rows[t])))
        return [(self.plan.offsets[tensors[0]], self.graph.tensors[tensors[0]].nbytes)]

    def remarks(self, tensors: Sequence[int]) -> list[str]:
        """Return the lines of the tooltip that say which rows of ``tensors`` are in memory."""
        lines = []
        for t in tensors:
            if t in self.rows:
                count, height = len(set(self.rows[t])), len(self.rows[t])
                lines.append(
                    f"row by row: its {height} rows have {count} addresses, which other rows use too"
                )
            elif t in self.users:
                lines.append("read or written row by row: other data reuse the memory of consumed rows")
        return lines


def _joined(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ``places`` (offset and bytes, sorted by offset) with those that touch or overlap joined to one."""
    joined: list[tuple[int, int]] = []
    for offset, nbytes in places:
        if joined and offset <= sum(joined[-1]):
            first, before = joined[-1]
            joined[-1] = (first, max(before, offset + nbytes - first))
        else:
            joined.append((offset, nbytes))
    return joined


def _has_aliases(graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements]) -> bool:
    """Return whether tensors share memory without a copy: an output is a view of an input, or a variable is read in
    place."""
    places = set(plan.variable_offsets.values())
    return any((i, o) in needs[k].alias for k, i, o in plan.sharing) or any(
        plan.offsets.get(t) in places and graph.tensors[t].nbytes > 0
        for op in graph.ops
        if op.name == "READ_VARIABLE"
        for t in op.outputs
    )


def _variable_sizes(graph: Subgraph) -> dict[str, int]:
    """Return the bytes of each resource variable, from the tensors that are read from or assigned to it, and of each
    state of a signal operator."""
    names = handle_names(graph)
    sizes = signal_states(graph)
    for op in graph.ops:
        if op.input(0) in names and op.name in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            tensor = op.outputs[0] if op.name == "READ_VARIABLE" else op.input(1)
            sizes[names[op.input(0)]] = graph.tensors[tensor].nbytes
    return sizes


def _tensor_line(graph: Subgraph, t: int) -> str:
    tensor = graph.tensors[t]
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    return f"#{t} {tensor.name}: {tensor.dtype} {shape}"


def _interval(plan: Plan, offset: int, nbytes: int, start: int, end: int) -> str:
    return (
        f"{nbytes:,} B at [{offset:,}, {offset + nbytes:,}), steps {start} to {end - 1} of {len(plan.order)}"
    )


def _text(text: str) -> str:
    """Return ``text`` escaped, without the control characters that XML forbids."""
    return escape("".join(c if c >= " " or c == "\n" else "\ufffd" for c in text))


def _rectangle(block: _Block, canvas: _Canvas) -> str:
    x, y = canvas.x(block.start), canvas.y(block.offset + block.nbytes)
    width = canvas.x(block.end) - x
    height = max(canvas.y(block.offset) - y, 2.0)
    parts = [
        f'<rect class="ar-block ar-{block.kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}"><title>{_text(block.title)}</title></rect>'
    ]
    if block.is_in_place:
        parts.append(f'<path class="ar-hand" d="M{x:.1f} {y:.1f}v{height:.1f}"/>')
    lines = _label(block.label, width, height)
    for n, line in enumerate(lines):
        baseline = y + height / 2 + 3.5 + 12 * (n - (len(lines) - 1) / 2)
        parts.append(
            f'<text class="ar-in ar-{block.kind}-in" x="{x + width / 2:.1f}" y="{baseline:.1f}" '
            f'text-anchor="middle">{_text(line)}</text>'
        )
    return "".join(parts)


def _label(label: tuple[str, str], width: float, height: float) -> tuple[str, ...]:
    """Return the lines of a label that fit into a block: both parts on one or two lines, the first part only, or no
    line."""
    for lines in ((f"{label[0]}  {label[1]}",), label, label[:1]):
        if height >= 12 * len(lines) and max(map(len, lines)) * _CHAR + 6 <= width:
            return lines
    return ()


def _axes(graph: Subgraph, plan: Plan, canvas: _Canvas) -> list[str]:
    """Return the grid lines with addresses, and the names of the operators."""
    parts = []
    tick = 1
    while canvas.arena / tick > 8:
        tick *= 2
    for address in range(0, canvas.arena + 1, tick):
        y = canvas.y(address)
        parts.append(
            f'<path class="ar-grid" d="M{_LEFT} {y:.1f}H{canvas.right:.1f}"/>'
            f'<text class="ar-soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{address:,}</text>'
        )
    middle = _TOP + _HEIGHT / 2
    parts.append(
        f'<text class="ar-soft" transform="translate(16 {middle:.0f}) rotate(-90)" text-anchor="middle">'
        "address in the arena, bytes</text>"
    )
    for p, k in enumerate(plan.order):
        x, y = canvas.x(p + 0.5), _TOP + _HEIGHT + 14
        parts.append(
            f'<text class="ar-soft" transform="translate({x + 3:.1f} {y}) rotate(-60)" text-anchor="end">'
            f"{_text(graph.ops[k].name)} {k}</text>"
        )
    return parts


def _peaks(requirements: ArenaRequirements, plan: Plan, canvas: _Canvas) -> list[str]:
    """Return a bar below each step with the most live bytes. There is no bar if the plan streams rows."""
    if plan.segments:
        return []
    pairs = {(k, i, o) for k, i, o in plan.sharing}
    buffers, _ = lifetimes(requirements, plan.order, in_place=bool(pairs - set(requirements.aliases)))
    live = live_bytes(buffers, canvas.steps)
    return [
        f'<rect class="ar-peak" x="{canvas.x(p):.1f}" y="{_TOP + _HEIGHT + 1}" '
        f'width="{canvas.step_width:.1f}" height="4">'
        f"<title>step {p}: {n:,} B live, the most of all steps</title></rect>"
        for p, n in enumerate(live)
        if n == max(live) and n > 0
    ]


def _bound(plan: Plan, canvas: _Canvas) -> list[str]:
    """Return a line with its text: at the lower bound of the arena, or at the boundary of two memories."""
    if plan.slow_bytes:
        text = f"arena {plan.arena_bytes:,} B: {plan.fast_bytes:,} B in the first memory below the line"
        y = canvas.y(plan.fast_bytes)
        return [
            f'<path class="ar-bound" d="M{_LEFT} {y:.1f}H{canvas.right:.1f}"/>',
            f'<text class="ar-bound-text" x="{_LEFT}" y="{_TOP - 8}">{text}, '
            f"{plan.slow_bytes:,} B in the second above it</text>",
        ]
    if plan.status == "optimal":
        text = f"arena {plan.arena_bytes:,} B: proven optimal for this order"
        if plan.arena_bytes == plan.statistics.graph_bound:
            text = f"arena {plan.arena_bytes:,} B = lower bound of every order"
    else:
        text = f"arena {plan.arena_bytes:,} B, lower bound {plan.lower_bound:,} B"
    y = canvas.y(plan.lower_bound)
    return [
        f'<path class="ar-bound" d="M{_LEFT} {y:.1f}H{canvas.right:.1f}"/>',
        f'<text class="ar-bound-text" x="{_LEFT}" y="{_TOP - 8}">{text}</text>',
    ]


def _legend(kinds: set[str], in_place: bool) -> list[str]:
    parts, x = [], float(_LEFT)
    for kind, (name, _, _) in _KINDS.items():
        if kind in kinds:
            parts.append(f'<rect class="ar-{kind}" x="{x:.0f}" y="12" width="12" height="12" rx="2"/>')
            parts.append(f'<text x="{x + 17:.0f}" y="22">{name}</text>')
            x += 17 + _LEGEND_CHAR * len(name) + 18
    if in_place:
        parts.append(f'<path class="ar-hand" d="M{x + 6:.0f} 11v14"/>')
        parts.append(f'<text x="{x + 14:.0f}" y="22">output computed in place</text>')
        x += 14 + _LEGEND_CHAR * 26 + 18
    parts.append(f'<rect class="ar-peak" x="{x:.0f}" y="16" width="12" height="4"/>')
    parts.append(f'<text x="{x + 17:.0f}" y="22">most bytes live</text>')
    return parts
