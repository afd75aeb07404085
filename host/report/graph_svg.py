"""Draw a graph: operators in execution order from top to bottom, and the tensors between them.

The picture loads no script or font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.host.report.html_parts import text

# In pixels: the height of a row and of a box, the width of a box, the margin above, and the width of a lane (see
# _lanes).
_ROW, _BOX, _WIDE, _TOP, _LANE = 48, 32, 250, 14, 14
_MAX_LANES = 8

_STYLE = (
    ".ar-graph text{font:12px system-ui,sans-serif;fill:#1c2430}.ar-graph .ar-soft{fill:#5b6675;font-size:11px}"
    ".ar-graph .ar-box{fill:#eef3f9;stroke:#2f6fb5}.ar-graph .ar-end{fill:#fff;stroke:#5b6675;stroke-dasharray:4 3}"
    ".ar-graph .ar-edge{fill:none;stroke:#5b6675;stroke-width:1.3}.ar-graph .ar-paper{fill:#fff}"
    ".ar-graph .ar-tip{fill:#5b6675}"
    "@media (prefers-color-scheme:dark){.ar-graph text{fill:#e4e9f0}.ar-graph .ar-soft{fill:#9aa7b8}"
    ".ar-graph .ar-box{fill:#1d2733;stroke:#6fa8e6}.ar-graph .ar-end{fill:#14181e;stroke:#9aa7b8}"
    ".ar-graph .ar-edge{stroke:#9aa7b8}.ar-graph .ar-paper{fill:#14181e}.ar-graph .ar-tip{fill:#9aa7b8}}"
)


@dataclass(frozen=True)
class _Node:
    """A box of the picture: an operator, or an input or output of the model."""

    title: str
    detail: tuple[str, str]  # the texts beside the box: the operator's outputs, and its constants
    end: bool  # whether the box is an input or output of the model


def graph_svg(graph: Subgraph, order: Sequence[int]) -> str:
    """Return an SVG element with the operators ``order`` (indices in execution order), the graph's inputs above them
    and its outputs below."""
    nodes = [
        _Node("input", (tensor_text(graph.tensors[i]), graph.tensors[i].name), True) for i in graph.inputs
    ]
    producers = {t: position for position, t in enumerate(graph.inputs)}
    edges: set[tuple[int, int]] = set()
    for k in order:
        op = graph.ops[k]
        edges |= {(producers[t], len(nodes)) for t in op.inputs if t in producers}
        producers |= {t: len(nodes) for t in op.outputs if t >= 0}
        nodes.append(_Node(f"{k}  {op.kind}", _details(graph, op), False))
    for t in graph.outputs:
        edges |= {(producers[t], len(nodes))} if t in producers else set()
        nodes.append(_Node("output", (tensor_text(graph.tensors[t]), graph.tensors[t].name), True))
    lanes = _lanes(sorted(e for e in edges if e[1] != e[0] + 1))
    left = 24 + _LANE * (max(lanes.values(), default=-1) + 1)
    width, height = left + _WIDE + 330, _TOP * 2 + _ROW * len(nodes)
    parts = [f'<rect class="ar-paper" width="{width}" height="{height}"/>']
    parts += [_edge(a, b, lanes.get((a, b)), left) for a, b in sorted(edges)]
    parts += [_box(node, position, left) for position, node in enumerate(nodes)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-graph" role="img" aria-label="{len(order)} operators" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" style="max-width:none">\n'
        f"<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</svg>"
    )


def tensor_text(tensor: Tensor) -> str:
    return f"{tensor.dtype} {' × '.join(map(str, tensor.shape)) or 'scalar'}"


def _details(graph: Subgraph, op: Op) -> tuple[str, str]:
    outputs_text = ", ".join(tensor_text(graph.tensors[t]) for t in op.outputs if t >= 0)
    constants = [graph.tensors[t] for t in op.inputs if t >= 0 and graph.tensors[t].is_constant]
    return outputs_text, "constants " + ", ".join(map(tensor_text, constants)) if constants else ""


def _lanes(skips: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return a lane (a vertical track left of the boxes) for each connection that skips a box. Lane 0 is nearest to the
    boxes. Short connections get the nearest lanes."""
    lanes: dict[tuple[int, int], int] = {}
    for edge in sorted(skips, key=lambda e: (e[1] - e[0], e)):
        used_lanes = {lanes[e] for e in lanes if e[0] <= edge[1] and edge[0] <= e[1]}
        lane = next((n for n in range(_MAX_LANES) if n not in used_lanes), _MAX_LANES - 1)
        lanes[edge] = lane
    return lanes


def _middle(position: int) -> float:
    return _TOP + _ROW * position + _BOX / 2


def _edge(first: int, last: int, lane: int | None, left: float) -> str:
    """Return the arrow from box ``first`` to box ``last``. Without a ``lane``, it is a straight line between
    neighbors."""
    if lane is None:
        x, top, bottom = left + _WIDE / 2, _middle(first) + _BOX / 2, _middle(last) - _BOX / 2
        return f'<path class="ar-edge" d="M{x} {top}V{bottom}"/>' + _tip(x, bottom, down=True)
    x, lane_x = left, left - 12 - _LANE * lane
    a, b = _middle(first), _middle(last)
    path = f"M{x} {a}H{lane_x + 6}Q{lane_x} {a} {lane_x} {a + 6}V{b - 6}Q{lane_x} {b} {lane_x + 6} {b}H{x}"
    return f'<path class="ar-edge" d="{path}"/>' + _tip(x, b, down=False)


def _tip(x: float, y: float, *, down: bool) -> str:
    shape = f"M{x - 4} {y - 6}h8l-4 6z" if down else f"M{x - 6} {y - 4}v8l6 -4z"
    return f'<path class="ar-tip" d="{shape}"/>'


def _box(node: _Node, position: int, left: float) -> str:
    y = _TOP + _ROW * position
    css_class = "ar-end" if node.end else "ar-box"
    text_x = left + _WIDE + 12
    return (
        f'<rect class="{css_class}" x="{left}" y="{y}" width="{_WIDE}" height="{_BOX}" rx="6"/>'
        f'<text x="{left + 12}" y="{y + 20}">{text(node.title)}</text>'
        f'<text x="{text_x}" y="{y + 13}">{text(node.detail[0])}</text>'
        f'<text class="ar-soft" x="{text_x}" y="{y + 28}">{text(_shorten(node.detail[1]))}</text>'
    )


def _shorten(line: str, max_length: int = 52) -> str:
    return line if len(line) <= max_length else line[: max_length - 1] + "…"
