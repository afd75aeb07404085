"""The effect of two cores: the work of each core per layer, the critical path, and the speed-up that follows
from it.

Instructions of each core are counted in the emulator, without those spent on waiting. Their time side by side
is an estimate: it assumes that an instruction lasts equally long on both cores, without conflicts on memory.
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

#: The meaning of the instructions on the emulated board's counter when two cores run.
BOTH_CORES = "Instructions are those of both cores together; two_cores has the critical path."


def report(project: Project, profiled: Profile | None) -> dict[str, Any] | None:
    """The counted split where there is a profile, else the predicted one; None where all layers run on one
    core."""
    predicted = predicted_split(project)
    if predicted is None or profiled is None or not profiled.second:
        return predicted
    counts = counted_split(project.generated, profiled)
    layers = [before | after for before, after in zip(predicted["layers"], counts["layers"], strict=True)]
    return predicted | counts | {"layers": layers}


def counted_split(generated: Generated, profiled: Profile) -> dict[str, Any]:
    """The split of one profiled inference. ``work``: instructions of both cores; ``critical_path``: of the
    busier one in each layer, and of fork and join."""

    def instructions(count: CycleCount) -> float:
        return count.instructions

    longest = profiled.critical(instructions)
    layers: list[dict[str, Any]] = []
    for k, (layer, first, last) in enumerate(zip(generated.calls, profiled.layers, longest, strict=True)):
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
        "critical_path": {"instructions": round(sum(longest)), "kind": "estimated"},
        "speedup": {"value": work / max(sum(longest), 1), "kind": "estimated"},
    }


def predicted_split(project: Project) -> dict[str, Any] | None:
    """The split before the build: the layers that are cut, why others are not, and the speed-up by the
    estimated instructions of each layer. None where all layers run on one core.

    ``bound``: the speed-up if all layers that are cut took half their time; the layers that stay whole limit
    it.
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
                "why": "" if cut else _why_whole(project, layer),
                "share": round(layer.share, 4),
                "instructions": round(estimate),
                "critical": round(estimate * layer.share + board.second_core.barrier_cycles * cut),
            }
        )
    whole = sum(estimates)
    serial = sum(row["instructions"] for row in layers if not row["cut"])
    longest = sum(row["critical"] for row in layers)
    return {
        "layers": layers,
        "second_stack": project.prediction.second_stack,
        "barrier": {"cycles": board.second_core.barrier_cycles, "kind": board.second_core.kind},
        "serial_share": serial / max(whole, 1),
        "bound": whole / max(serial + (whole - serial) / 2, 1),
        "speedup": {"value": whole / max(longest, 1), "kind": "estimated"},
    }


def _why_whole(project: Project, layer: Layer) -> str:
    if layer.streamed:
        return "runs row by row"
    graph, target = project.generated.model.main, project.prepared.target
    if split_for(graph, layer.op, target)[1] is not None:
        return "no halves that its kernel supports and that share no memory"
    if split_for(graph, layer.op, replace(target, barrier=0))[1] is not None:
        return "too small"
    return "its kernel computes all of it at once"
