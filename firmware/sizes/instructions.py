"""The instructions that the parts of an application take, from the work of each part and costs that were measured.

``profiles/instructions.json`` has the costs of a unit of each kind of work, for each core. They were fitted to
instructions that the emulator counted in layers and applications with other settings than those of any shipped model
(``python -m benchmarks.app_instructions``), so nothing is built for a prediction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.imu.plan import ImuPlan
from arenite.firmware.boards.cores import optimise_flags
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.sizes.front_end_work import row_work
from arenite.firmware.sizes.layer_work import layer_work
from arenite.firmware.sizes.targets import SIZES
from arenite.firmware.sizes.timing import NEAREST, layer_instructions

PATH = SIZES.parent / "instructions.json"

Costs = Mapping[str, float]


@dataclass(frozen=True)
class CostTable:
    """The costs of a core: instructions for a unit of each kind of work.

    ``kernels`` are the costs of layers by kernel, ``front_ends`` those of rows of features by front end. The largest
    costs of inputs for which they differ are in ``largest``, by the same names. ``decision`` are the costs of a
    decision, ``loop`` those of the loop, its driver and the serial port, and ``line`` those of an event's line.
    ``frames`` are the costs of the loop of a camera, and ``pictures`` those of the functions that convert its rows.
    ``learning`` are the costs of an anomaly head.
    """

    kernels: Mapping[str, Costs]
    front_ends: Mapping[str, Costs]
    largest: Mapping[str, Costs]
    decision: Costs
    loop: Costs
    line: Costs
    frames: Costs = field(default_factory=dict)
    pictures: Mapping[str, Costs] = field(default_factory=dict)
    learning: Costs = field(default_factory=dict)


@dataclass(frozen=True)
class Count:
    """Instructions: for usual inputs, and for the inputs that take most."""

    usual: float
    most: float

    def __add__(self, other: Count) -> Count:
        return Count(self.usual + other.usual, self.most + other.most)

    def times(self, factor: float) -> Count:
        return Count(factor * self.usual, factor * self.most)


@cache
def _tables() -> dict[str, CostTable]:
    if not PATH.is_file():
        return {}
    return {core: CostTable(**costs) for core, costs in json.loads(PATH.read_text())["cores"].items()}


def cost_table(core: str, optimise: str) -> CostTable | None:
    """Return the costs of ``core``; None if they were not measured, as for builds that are optimized for size."""
    if optimise_flags(optimise) == ("-Os",):
        return None
    return _tables().get(core) or _tables().get(NEAREST.get(core, core))


def total(costs: Costs, work: Mapping[str, float]) -> float:
    """Return the instructions of ``work``."""
    return sum(costs.get(name, 0.0) * count for name, count in work.items())


def inference_count(
    g: Generated, table: CostTable, core: str, optimise: str
) -> tuple[Count, tuple[str, ...]]:
    """Return the instructions of an inference, and the kernels whose costs were not measured. For these, the estimate
    of ``timing.py`` is used."""
    count, unknown = Count(0.0, 0.0), set[str]()
    for layer, estimate in zip(g.calls, layer_instructions(g, core, optimise), strict=True):
        assert layer.call is not None
        kernel = layer.call.kernel
        work = layer_work(g, layer) if kernel in table.kernels else None
        if work is None:
            unknown.add(kernel)
            count += Count(estimate, estimate)
        else:
            usual = total(table.kernels[kernel], work)
            count += Count(usual, max(usual, total(table.largest.get(kernel, {}), work)))
    return count, tuple(sorted(unknown))


def row_count(
    plan: AudioPlan | MicroPlan | ImuPlan, table: CostTable, rows: int, feeds: float
) -> Count | None:
    """Return the instructions of the features from one window to the next, and of filling the input.

    ``rows`` are the new rows and ``feeds`` the calls that bring their samples. None if the front end was not measured.
    """
    kind, work = row_work(plan, rows, feeds)
    if kind not in table.front_ends:
        return None
    usual = total(table.front_ends[kind], work)
    return Count(usual, max(usual, total(table.largest.get(kind, {}), work)))
