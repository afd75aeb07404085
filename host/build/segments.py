"""Describe a plan's streaming segments, as sentences and as JSON: their operators, rows and extra work.

A streaming segment is a chain of operators that run row by row, so that only some rows of the tensors between them are
in memory at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.streaming.schedule import make_schedule, rows_kept


def describe_segments(graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements]) -> list[dict[str, Any]]:
    """Return one object per segment.

    ``operators`` has positions in execution order. For each tensor, ``rows`` is the number of rows that are in memory
    at the same time, and ``of`` is the number of all rows. ``instructions_added`` is an estimate.
    """
    position = {k: p for p, k in enumerate(plan.order)}
    described = []
    for segment in plan.segments:
        schedule = make_schedule(graph, needs, segment.stages, segment.streamed_input)
        assert schedule is not None  # the segment has a schedule
        added = sum(rows.extra for k in segment.stages if (rows := needs[k].rows) is not None)
        described.append(
            {
                "operators": [position[k] for k in segment.stages],
                "steps": len(segment.schedule),
                "input_arrives_in_rows": segment.streamed_input is not None,
                "tensors": [
                    {
                        "index": t,
                        "name": graph.tensors[t].name,
                        "rows": rows_kept(lifetimes) if t in segment.rows else graph.tensors[t].shape[1],
                        "of": graph.tensors[t].shape[1],
                        "row_bytes": graph.tensors[t].nbytes // graph.tensors[t].shape[1],
                        "offset": plan.offsets[t],
                    }
                    for t, lifetimes in sorted(schedule.rows.items())
                ],
                "state_bytes": segment.state_bytes,
                "instructions_added": {"value": added, "kind": "estimated"},
            }
        )
    return described


def segment_sentences(described: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence for each segment."""
    sentences = []
    for segment in described:
        first, last = segment["operators"][0], segment["operators"][-1]
        subject = f"operator {first} runs" if first == last else f"operators {first} to {last} run"
        rings = [f"{t['rows']} of {t['of']}" for t in segment["tensors"] if t["rows"] < t["of"]]
        ring_rows = f" rows kept: {', '.join(rings)};" if rings else ""
        source = " while the input arrives" if segment["input_arrives_in_rows"] else ""
        sentences.append(
            f"{subject} row by row{source}:{ring_rows} {segment['steps']} steps, about "
            f"{segment['instructions_added']['value']:,} instructions more (estimated)"
        )
    return sentences
