"""Compare the planner's strategy to choose tensors for a slow memory with simpler strategies:
``python -m benchmarks.memory_split``.

There are four strategies for each model and each size of the fast memory:

- the planner's strategy;
- move the largest tensors to the slow memory first;
- put each tensor into the fast memory if there is room, in the order in which they are computed, like an allocator;
- move all tensors to the slow memory.

Each result is built and runs one inference in QEMU, where a plugin counts the loads and stores in the slow memory. The
program writes out/split.json. ``--markdown`` prints the table of docs/memory-split.md from this file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner import check
from arenite.converters.planner.memory_split import plan_split
from arenite.converters.planner.memory_split_checker import find_split_violations
from arenite.files import write_atomic
from arenite.firmware.generator.model_source import GUARD_BYTES
from arenite.firmware.generator.state import resource_sizes
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.accesses import estimate_accesses
from arenite.firmware.sizes.prediction import predict
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.split_arena import slow_accesses
from arenite.profiles.boards import load_board
from benchmarks.estimates.access_counts import MODELS, count_tensor_accesses

OUT = Path("out/split.json")
BOARD = "qemu_mps2_an386"
NAMES = ("vww01_int8", "ic01_int8", "person_detect_int8", "kws01_int8")
#: The limits of the arena's part in the fast memory, in percent of the size of an arena in one memory.
SHARES = (75, 50, 25)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if "--markdown" in arguments:
        print(table(json.loads(OUT.read_text())["rows"]))
        return 0
    board = load_board(BOARD)
    second = board.second_rams[0]
    rows: list[dict[str, Any]] = []
    for name in NAMES:
        prepared = prepare(MODELS / f"{name}.tflite").retarget(Target.for_core(board.core, "speed", False))
        for share in SHARES:
            limit = prepared.plan.arena_bytes * share // 100
            for strategy, choose in STRATEGIES.items():
                planned = choose(prepared, (limit, second.size - GUARD_BYTES))
                if planned is None:
                    continue
                rows.append({"model": name, "share": share, "limit": limit, "way": strategy, **_run(planned)})
                print(json.dumps(rows[-1]), file=sys.stderr)
    write_atomic(OUT, json.dumps({"board": BOARD, "rows": rows}, indent=1) + "\n")
    print(table(rows))
    return 0 if all(row["exact"] and row["bytes_exact"] and not row["guards"] for row in rows) else 1


def _run(planned: Prepared) -> dict[str, Any]:
    """Build a planned model, run one inference, and return the figures of the row: among others, the estimated and the
    counted number of accesses to the slow memory."""
    board = load_board(BOARD)
    second = board.second_rams[0] if planned.plan.slow_bytes else None
    counted = count_tensor_accesses(planned, board, "speed", second)
    predicted = predict(planned.generated, board, "speed")
    sizes = counted.sizes
    assert planned.plan.split is not None
    return {
        "fast": planned.plan.fast_bytes,
        "slow": planned.plan.slow_bytes,
        "estimated": slow_accesses(planned.plan, estimate_accesses(planned.generated)),
        "counted": counted.slow,
        "status": planned.plan.split.status,
        "exact": counted.exact,
        "guards": counted.guards,
        "bytes_exact": (sizes.arena, sizes.arena_slow, sizes.static)
        == (predicted.arena, predicted.arena_slow, predicted.static),
    }


#: The sizes in bytes that the arena may take of the fast and of the slow memory.
Limits = tuple[int, int]


def _planned(prepared: Prepared, limits: Limits, placed: dict[int, bool] | None = None) -> Prepared | None:
    """Plan and check the split, and return the model with this plan, or None if there is no plan. ``placed`` forces
    tensors into the fast memory (True) or the slow memory (False)."""
    graph, needs, persistent = prepared.model.main, prepared.needs, resource_sizes(prepared.model)
    accesses = estimate_accesses(prepared.generated)
    planned = plan_split(
        graph, needs, prepared.plan.order, accesses, limits, persistent=persistent, placed=placed
    )
    if planned is None:
        return None
    check(graph, planned, needs, persistent=persistent)
    assert not find_split_violations(graph, planned, needs, persistent=persistent, limits=limits)
    return replace(prepared, plan=planned)


def _placeable(prepared: Prepared) -> list[int]:
    """Return the indices of the tensors in the arena, in the order in which they are computed."""
    graph, plan = prepared.model.main, prepared.plan
    order = [*graph.inputs, *(t for k in plan.order for t in graph.ops[k].outputs)]
    return [t for t in dict.fromkeys(order) if t in plan.offsets and graph.tensors[t].nbytes]


def _largest_out(prepared: Prepared, limits: Limits) -> Prepared | None:
    """Move the largest tensors to the slow memory, one after the other, until the others fit the fast memory."""
    graph: Subgraph = prepared.model.main
    tensors = sorted(_placeable(prepared), key=lambda t: -graph.tensors[t].nbytes)
    for moved in range(len(tensors) + 1):
        planned = _planned(prepared, limits, {t: n >= moved for n, t in enumerate(tensors)})
        if planned is not None:
            return planned
    return None


def _first_come(prepared: Prepared, limits: Limits) -> Prepared | None:
    """Put each tensor, in the order in which they are computed, into the fast memory if it fits there."""
    placed = dict.fromkeys(_placeable(prepared), False)
    best = _planned(prepared, limits, placed)
    for t in placed:
        placed[t] = True
        planned = _planned(prepared, limits, placed)
        placed[t] = planned is not None
        best = best if planned is None else planned
    return best


def _all_out(prepared: Prepared, limits: Limits) -> Prepared | None:
    """Move all tensors to the slow memory."""
    return _planned(prepared, limits, dict.fromkeys(_placeable(prepared), False))


STRATEGIES: dict[str, Callable[[Prepared, Limits], Prepared | None]] = {
    "planner": _planned,
    "largest moved": _largest_out,
    "first come": _first_come,
    "all moved": _all_out,
}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with one line per model and limit: the planner's figures, and the counted accesses of the
    simpler strategies as multiples of the planner's count."""
    lines = [
        "| model | fast limit B | arena: fast + slow B | slow accesses: estimated | counted | "
        + " | ".join(name for name in STRATEGIES if name != "planner")
        + " |",
        "|-|-:|-:|-:|-:|" + "-:|" * (len(STRATEGIES) - 1),
    ]
    for row in (r for r in rows if r["way"] == "planner"):
        results = {r["way"]: r for r in rows if (r["model"], r["limit"]) == (row["model"], row["limit"])}
        others = [_multiple(results.get(name), row) for name in STRATEGIES if name != "planner"]
        lines.append(
            f"| {row['model'].removesuffix('_int8')} | {row['limit']:,} | {row['fast']:,} + {row['slow']:,} | "
            f"{row['estimated']:,} | {row['counted']:,} | {' | '.join(others)} |"
        )
    return "\n".join(lines)


def _multiple(other: dict[str, Any] | None, row: dict[str, Any]) -> str:
    return "–" if other is None else f"{other['counted'] / max(row['counted'], 1):.2f}×"


if __name__ == "__main__":
    sys.exit(main())
