"""Report the effect of two cores: the work of each core per layer, the critical path, and the resulting speed-up.

The emulator counts the instructions of each core, without those spent on waiting. The speed-up is an estimate. It
assumes that an instruction takes the same time on both cores, and that they do not slow down each other's memory
accesses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arenite.firmware.generator.generated_model import Generated, Layer
from arenite.firmware.generator.operator_needs import split_for
from arenite.firmware.sizes.timing import layer_instructions
from arenite.host.build.project import Project
from arenite.host.emulator.profile import Profile
from arenite.host.emulator.timing import CycleCount

#: A note for results of emulated boards when two cores run.
BOTH_CORES = "Instructions are those of both cores together. The field two_cores has the critical path."


def report(project: Project, profiled: Profile | None) -> dict[str, Any] | None:
    """Return how the work is split between the cores: counted values if there is a profile of both cores, else only
    predicted values. Returns None if all layers run on one core."""
    predicted = predicted_split(project)
    if predicted is None or profiled is None or not profiled.second:
        return predicted
    counts = counted_split(project.generated, profiled)
    layers = [
        predicted_layer | counted_layer
        for predicted_layer, counted_layer in zip(predicted["layers"], counts["layers"], strict=True)
    ]
    return predicted | counts | {"layers": layers}


def counted_split(generated: Generated, profiled: Profile) -> dict[str, Any]:
    """Return how the work of one profiled inference is split between the cores.

    ``work`` is the number of instructions of both cores. ``critical_path`` is the sum over all layers of the
    instructions of the busier core, plus the instructions of fork and join (starting the second core and joining it).
    ``barrier`` has the instructions of one fork and join, ``serial_share`` the share of the work in layers that run on
    one core only.
    """

    def instructions(count: CycleCount) -> float:
        return count.instructions

    critical_path = profiled.layer_durations(instructions)
    layers: list[dict[str, Any]] = []
    for k, (layer, first, last) in enumerate(
        zip(generated.calls, profiled.layers, critical_path, strict=True)
    ):
        second = profiled.second.get(k)
        layers.append(
            {
                "index": layer.index,
                "op": layer.op.name,
                "first": first.instructions,
                "second": None if second is None else second.instructions,
                "critical": round(last),
            }
        )
    work = profiled.total.instructions
    serial = sum(row["first"] for row in layers if row["second"] is None)
    return {
        "layers": layers,
        "work": {"instructions": work, "kind": "measured"},
        "barrier": {
            "instructions": profiled.join.instructions + profiled.serve.instructions,
            "kind": "measured",
        },
        "serial_share": serial / max(work, 1),
        "critical_path": {"instructions": round(sum(critical_path)), "kind": "estimated"},
        "speedup": {"value": work / max(sum(critical_path), 1), "kind": "estimated"},
    }


def predicted_split(project: Project) -> dict[str, Any] | None:
    """Return the predicted split: which layers are cut into a half for each core, why the remaining layers are not cut,
    and the speed-up that follows from the estimated instructions of each layer. Returns None if all layers run on one
    core.

    ``bound`` is an upper bound of the speed-up: each layer that is cut would take half its time.
    """
    generated, board = project.generated, project.board
    if not generated.parallel or board.second_core is None:
        return None
    estimates = layer_instructions(generated, board.core, project.optimise)
    layers: list[dict[str, Any]] = []
    for layer, estimate in zip(generated.calls, estimates, strict=True):
        cut = layer.second is not None
        layers.append(
            {
                "index": layer.index,
                "op": layer.op.name,
                "cut": cut,
                "why": "" if cut else _reason_not_cut(project, layer),
                "share": round(layer.share, 4),
                "instructions": round(estimate),
                "critical": round(estimate * layer.share + board.second_core.barrier_cycles * cut),
            }
        )
    total = sum(estimates)
    serial = sum(row["instructions"] for row in layers if not row["cut"])
    critical_path = sum(row["critical"] for row in layers)
    return {
        "layers": layers,
        "second_stack": project.prediction.second_core_stack,
        "barrier": {"cycles": board.second_core.barrier_cycles, "kind": board.second_core.kind},
        "serial_share": serial / max(total, 1),
        "bound": total / max(serial + (total - serial) / 2, 1),
        "speedup": {"value": total / max(critical_path, 1), "kind": "estimated"},
    }


def _reason_not_cut(project: Project, layer: Layer) -> str:
    if layer.streamed:
        return "runs row by row"
    graph, target = project.generated.model.main, project.prepared.target
    if split_for(graph, layer.op, target)[1] is not None:
        return "no halves that its kernel supports and that share no memory"
    if split_for(graph, layer.op, replace(target, barrier=0))[1] is not None:
        return "too small"
    return "its kernel computes all of it at once"
