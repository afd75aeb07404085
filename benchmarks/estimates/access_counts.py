"""Count the loads and stores of a model's tensors in the emulator. ``fit_accesses.py`` and ``memory_split.py`` use
these counts."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.planner.plan import Plan
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.generator.project import write_project
from arenite.host.bench.devices.measure import DeviceMeasurement, measure
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import random_samples
from arenite.host.build.elf_sizes import ElfSizes, read_elf
from arenite.host.build.prepare import Prepared
from arenite.host.emulator.accesses import (
    ArenaAddresses,
    LineAccessCounts,
    LineAccesses,
    accesses_by_tensor,
    arena_addresses,
    count_accesses,
)
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.flash.build import build
from arenite.host.link.transport import Transport
from arenite.profiles.board import Board, MemoryRegion

MODELS = Path(os.environ.get("ARENITE_MODELS", "../shared/models"))


@dataclass(frozen=True)
class ModelAccesses:
    """The memory accesses of one inference.

    Args:
        generated: the model's generated code and arena plan.
        layers: for each layer that has code, the accesses by tensor index.
        lines: for each of these layers, the accesses by address.
        places: the addresses of the arena's parts.
        sizes: the sizes in the linked ELF.
        exact: whether the outputs equal those of LiteRT's reference kernels in every byte.
        guards: the number of overwritten guard words.
    """

    generated: Generated
    layers: list[dict[int, LineAccessCounts]]
    lines: list[LineAccesses]
    places: ArenaAddresses
    sizes: ElfSizes
    exact: bool
    guards: int

    @property
    def slow(self) -> int:
        """The number of loads and stores in the second memory."""
        if self.places.slow is None:
            return 0
        end = self.places.slow + self.generated.plan.slow_bytes
        return sum(
            counts.total
            for lines in self.lines
            for address, counts in lines.items()
            if self.places.slow <= address < end
        )


def count_tensor_accesses(
    prepared: Prepared, board: Board, optimise: str, second: MemoryRegion | None
) -> ModelAccesses:
    """Build the planned model ``prepared`` for ``board``, run one inference with a random input in the emulator, and
    count its loads and stores. ``second`` is the memory that holds a part of the arena, or None."""
    generated = prepared.generated
    sample = random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], 1)
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        project = Path(folder) / "project"
        write_project(
            project,
            model_sources(generated),
            generated.engine_sources,
            board,
            optimise=optimise,
            second=second,
        )
        elf = build(project)
        places = arena_addresses(elf)
        measured: list[DeviceMeasurement] = []

        def infer(line: Transport) -> None:
            measured.append(measure(line, generated, sample, False, lambda *_: None))

        lines = count_accesses(
            board, elf, layer_code(elf, segment_layers(generated)), memories(generated.plan, places), infer
        )
        sizes = read_elf(elf)
    expected = Reference(prepared.reference).run(sample.inputs[0], reset=True)
    actual, memory = measured[0].outputs[0], measured[0].memory
    return ModelAccesses(
        generated,
        accesses_by_tensor(generated, places, lines),
        lines,
        places,
        sizes,
        all(a.tobytes() == b.tobytes() for a, b in zip(expected, actual, strict=True)),
        memory.guards_damaged if memory is not None else 0,
    )


def memories(plan: Plan, places: ArenaAddresses) -> list[tuple[int, int]]:
    """Return (address, size in bytes) of each part of the arena."""
    regions = [(places.fast, max(plan.fast_bytes, 16))]
    return regions if places.slow is None else [*regions, (places.slow, plan.slow_bytes)]
