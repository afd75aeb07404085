"""The result of a bench run, which ``arenite bench --json`` prints as ``arenite.bench/1``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = "arenite.bench/1"


@dataclass(frozen=True)
class Percentiles:
    """Nearest-rank percentiles over all inferences. The unit is in the name of the ``BenchResult`` field."""

    p50: float
    p95: float
    p99: float
    min: float
    max: float


@dataclass(frozen=True)
class SampleFigures:
    """Counts of the samples of a run.

    ``bit_exact`` is the number of samples whose outputs equal those of LiteRT's reference kernels in every byte.
    ``max_abs_diff`` is the largest difference from these kernels, or None if it is not a number. ``accuracy`` is a
    fraction, or None without labels. ``missing`` samples have no answer, ``resumed`` samples were answered in an
    earlier run, ``repeated`` samples were sent again after a damaged frame.
    """

    count: int
    bit_exact: int
    max_abs_diff: float | None
    accuracy: float | None
    missing: int
    resumed: int
    repeated: int


@dataclass(frozen=True)
class MemoryFigures:
    """Measured RAM in bytes, and the RAM that was predicted before the build.

    ``arena_lower_bound`` is a proven lower bound of the arena for the plan's execution order, ``arena_status`` says
    whether the plan is optimal. ``stack_kind`` is "estimated" if the protocol cannot report the stack. ``stack`` is
    then the predicted upper bound.
    """

    arena: int
    arena_regions: list[dict[str, Any]]
    arena_lower_bound: int
    arena_status: str
    stack: int
    stack_kind: str
    static: int
    ram_total: int
    predicted_arena: int
    predicted_arena_regions: list[dict[str, Any]]
    predicted_stack: int
    predicted_static: int
    predicted_ram_total: int


@dataclass(frozen=True)
class FlashFigures:
    """Flash in bytes, read from the linked ELF, and the flash that was predicted before the build."""

    weights: int
    code: int
    total: int
    predicted_weights: int
    predicted_code: int
    predicted_total: int


@dataclass(frozen=True)
class BenchResult:
    """One model, measured on one board.

    ``instructions`` per inference are exact on an emulated board and None on a real board, which has ``latency_us`` (in
    microseconds) instead. ``cycles`` is an estimate together with its source. ``layers`` has a row for each layer,
    ``passes`` a row for each graph pass, and ``segments`` a row for each group of layers that run row by row.
    ``classes`` has the count and the cycles of each class of instructions, or is None without a profile.
    """

    model: Mapping[str, Any]
    board: Mapping[str, str]
    protocol: str
    optimise: str
    samples: SampleFigures
    instructions: Percentiles | None
    latency_us: Percentiles | None
    cycles: Mapping[str, Any] | None
    init_instructions: int | None
    memory: MemoryFigures
    flash: FlashFigures
    layers: list[dict[str, Any]]
    passes: list[dict[str, Any]]
    segments: list[dict[str, Any]]
    classes: Any
    health: Mapping[str, Any] | None
    build: Mapping[str, Any]
    boards: list[dict[str, Any]]
    two_cores: Mapping[str, Any] | None
    notes: tuple[str, ...]

    @property
    def bit_exact(self) -> bool:
        """Whether every sample has an answer that equals the outputs of LiteRT's reference kernels in every byte."""
        return self.samples.bit_exact == self.samples.count

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.bench/1``."""
        return {
            "schema": SCHEMA,
            "model": dict(self.model),
            "passes": self.passes,
            "board": dict(self.board),
            "protocol": self.protocol,
            "optimise": self.optimise,
            "samples": asdict(self.samples),
            "inference": {
                "instructions": None if self.instructions is None else asdict(self.instructions),
                "latency_us": None if self.latency_us is None else asdict(self.latency_us),
                "cycles": self.cycles,
            },
            "init": {"instructions": self.init_instructions},
            "memory": asdict(self.memory),
            "flash": asdict(self.flash),
            "layers": self.layers,
            "segments": self.segments,
            "classes": self.classes,
            "energy": None,
            "health": self.health,
            "build": dict(self.build),
            "boards": self.boards,
            "two_cores": self.two_cores,
            "notes": list(self.notes),
        }
