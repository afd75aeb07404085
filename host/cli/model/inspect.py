"""``arenite inspect``: list the contents of a model, and draw its arena over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arenite.converters.graph.loop import constant_bytes
from arenite.converters.planner.plan import Plan
from arenite.files import write_atomic
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.operator_needs import op_macs
from arenite.firmware.generator.target import SCALAR, Target
from arenite.host.build.attachments import MADE_FROM
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.segments import describe_segments, segment_sentences
from arenite.host.cli.options import no_passes_option, stream_option
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.console import note, print_json, show, table
from arenite.host.report.provenance import made_from_sentence
from arenite.profiles.boards import load_board


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML page with the operators and a drawing of the arena's use during one inference.",
)
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write only the drawing of the arena to this SVG file.",
)
@click.option(
    "--board",
    "board_name",
    metavar="NAME",
    help=(
        "Compute a new plan for the kernels of this board's core. Default: the plan in IMAGE, or a plan for "
        "portable kernels."
    ),
)
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    help=(
        "Compute a new plan for this optimization goal (docs/firmware.md). Default: balanced, if --board or "
        "--stream-input requires a new plan."
    ),
)
@stream_option
@no_passes_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def inspect(
    image: Path,
    html: Path | None,
    svg: Path | None,
    board_name: str | None,
    optimise: str | None,
    stream_input: bool,
    no_passes: bool,
    as_json: bool,
) -> int:
    """Show the operators of IMAGE in execution order, the arena addresses of their outputs, and the arena's size.

    IMAGE is a quantized .tflite file. If `arenite convert` wrote it, it contains a plan of the arena (the order of the
    operators and the address of every tensor), which is shown if it is valid for this version's kernels. With --board,
    --optimise or --stream-input, a new plan is computed for these options.
    """
    prepared = prepare(image, passes=not no_passes)
    if board_name is not None or optimise is not None or stream_input:
        goal = optimise or "balanced"
        core = load_board(board_name).core if board_name is not None else None
        target = Target.for_core(core, goal, stream_input) if core else Target("", SCALAR, goal, stream_input)
        prepared = prepared.retarget(target)
    if html is not None or svg is not None:
        drawing = arena_svg(prepared.model.main, prepared.plan, prepared.needs)
        if svg is not None:
            write_atomic(svg, drawing)
        if html is not None:
            from arenite.host.report.bench_page import inspect_page

            write_atomic(html, inspect_page(_inspect_json(prepared), drawing))
    if as_json:
        print_json(_inspect_json(prepared))
        return 0
    for text in prepared.notes:
        note(text)
    description = _inspect_json(prepared)
    rows = [
        (o["index"], o["op"], o["inputs"], o["outputs"], f"{o['macs']:,}", o["arena"])
        for o in description["operators"]
    ]
    show(table(image.name, ("#", "operator", "inputs", "outputs", "MACs", "arena of outputs"), rows))
    p = prepared.plan
    show(
        f"arena {p.arena_bytes:,} B, lower bound {p.lower_bound:,} B ({p.status}); {_macs_text(description)} MACs; "
        f"constants {description['constant_bytes']:,} B",
        _search_sentence(p),
        *segment_sentences(description["segments"]),
        *([origin] if (origin := made_from_sentence(prepared.extra)) else []),
    )
    return 0


def _macs_text(described: dict[str, Any]) -> str:
    """Return the number of multiply-accumulates before and after the graph passes as text."""
    before, after = described["macs"], described["macs_after_passes"]
    return f"{before:,}" if before == after else f"{before:,} -> {after:,}"


def _search_sentence(plan: Plan) -> str:
    """Return one line about the planner's searches for an operator order and for offsets. The limit of a search is a
    number of search nodes and not a time, so a plan is the same on every machine."""
    s = plan.statistics
    order = "no other order needs less" if plan.order_proven else "best order found"
    return (
        f"{order} ({s.order_nodes:,} of at most {s.order_budget:,} nodes searched); "
        f"offsets: {s.offset_nodes:,} of at most {s.offset_budget:,} nodes"
    )


def _inspect_json(prepared: Prepared) -> dict[str, Any]:
    graph, plan = prepared.model.main, prepared.plan

    def shapes(indices: tuple[int, ...]) -> str:
        tensors = [graph.tensors[i] for i in indices if i >= 0]
        return ", ".join(f"{t.stored or t.dtype} {'x'.join(map(str, t.shape)) or 'scalar'}" for t in tensors)

    operators = []
    for position, index in enumerate(plan.order):
        op = graph.ops[index]
        spans = [
            f"[{plan.offsets[i]}, {plan.offsets[i] + graph.tensors[i].nbytes})"
            for i in op.outputs
            if i in plan.offsets
        ]
        operators.append(
            {
                "index": position,
                "op": op.kind,
                "inputs": shapes(op.inputs),
                "outputs": shapes(op.outputs),
                "macs": op_macs(graph, op),
                "arena": ", ".join(spans),
            }
        )
    return {
        "schema": "arenite.inspect/1",
        "model": {"path": str(prepared.path), "sha256": prepared.sha256},
        "inputs": [_tensor(prepared, i) for i in graph.inputs],
        "outputs": [_tensor(prepared, i) for i in graph.outputs],
        "operators": operators,
        "macs": prepared.source_macs,
        "macs_after_passes": prepared.macs,
        "constant_bytes": constant_bytes(graph),
        "plan": plan.to_json(),
        "segments": describe_segments(graph, plan, prepared.needs),
        "notes": list(prepared.notes),
        "passes": [r.to_json() for r in prepared.passes],
        "made_from": prepared.extra.get(MADE_FROM),
    }


def _tensor(prepared: Prepared, index: int) -> dict[str, Any]:
    t = prepared.model.main.tensors[index]
    quant = None
    if t.quant is not None:
        quant = {"scale": list(t.quant.scale), "zero_point": list(t.quant.zero_point)}
    dtype = t.stored or t.dtype
    return {"index": t.index, "name": t.name, "shape": list(t.shape), "dtype": dtype, "quantization": quant}
