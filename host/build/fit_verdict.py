"""Compare the requirements of a firmware with a board: whether the model fits, and if not, how many bytes are
missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arenite.firmware.boards.toolchains import GCC
from arenite.profiles.board import Board, MemoryRegion

#: The power in watts per hertz of clock that is assumed for boards whose profile has no current: 100 uA/MHz at 3.3 V,
#: typical of today's microcontrollers.
ASSUMED_W_PER_HZ = 100e-6 * 3.3 / 1e6


@dataclass(frozen=True)
class FirmwareRequirements:
    """The memory that a firmware takes, in bytes, and the cost of an inference.

    ``optimise`` is the goal of the build. ``stack`` is an upper bound. ``exact`` is False if the start-up code of the
    board's framework could not be measured. ``code`` and ``static`` are then estimates. ``instructions`` per inference
    and ``cycles_per_instruction`` are estimates.

    If the arena is split over two memories, ``arena_slow`` bytes of the arena are in the memory ``second``. With their
    guard words they take ``slow_ram`` bytes there. ``slow_cycles`` is the estimated number of extra cycles per
    inference of all accesses to ``second``, compared with the first memory. It is negative if the second memory is
    faster.

    ``toolchain`` is the compiler with which the sizes were measured. ``code_in_ram`` is the part of ``static`` that is
    code; it is in ``code`` too.
    """

    optimise: str
    arena: int
    static: int
    stack: int
    weights: int
    code: int
    exact: bool
    instructions: float
    cycles_per_instruction: float
    second: MemoryRegion | None = None
    arena_slow: int = 0
    slow_ram: int = 0
    slow_cycles: float = 0.0
    toolchain: str = GCC
    code_in_ram: int = 0

    @property
    def ram(self) -> int:
        """The bytes that the firmware takes of the first memory."""
        return self.arena + self.static + self.stack - self.slow_ram

    @property
    def arena_fast(self) -> int:
        """The bytes of the arena that are in the first memory."""
        return self.arena - self.arena_slow

    @property
    def cycles(self) -> float:
        """Estimated cycles per inference."""
        return self.instructions * self.cycles_per_instruction + self.slow_cycles

    @property
    def flash(self) -> int:
        return self.weights + self.code


@dataclass(frozen=True)
class FitVerdict:
    """The verdict for one board.

    ``latency_ms`` and ``energy_mj`` are per inference. The latency is an estimate. ``energy_kind`` is "estimated" if
    the profile has the board's current and supply voltage, else "assumed". ``reasons`` says why the model does not fit.
    """

    board: Board
    needs: FirmwareRequirements
    fits: bool
    latency_ms: float
    energy_mj: float
    energy_kind: str
    reasons: tuple[str, ...] = field(default=())
    fast_ram: int | None = (
        None  # the user's limit in bytes for the part of the arena in the first memory, or None
    )
    notes: tuple[str, ...] = field(default=())

    @property
    def missing(self) -> int:
        """The number of bytes of RAM and flash that the board lacks. It is 0 if the model fits."""
        ram, flash = self.needs.ram - self.board.ram_bytes, self.needs.flash - self.board.flash_bytes
        over = 0 if self.fast_ram is None else self.needs.arena_fast - self.fast_ram
        return max(ram, over, 0) + max(flash, 0)

    def to_json(self) -> dict[str, Any]:
        """Return the board's entry of ``arenite.fit/1``."""
        kind = {} if self.needs.exact else {"kind": "estimated"}
        return {
            "board": self.board.name,
            "optimise": self.needs.optimise,
            "toolchain": self.needs.toolchain,
            "fits": self.fits,
            "ram": {
                "needed": self.needs.ram,
                "available": self.board.ram_bytes,
                "arena": self.needs.arena_fast,
                "stack": self.needs.stack,
                "static": self.needs.ram - self.needs.arena_fast - self.needs.stack,
                "code_in_ram": self.needs.code_in_ram,
                **kind,
            },
            "slow_ram": self._slow_ram(),
            "flash": {
                "needed": self.needs.flash,
                "available": self.board.flash_bytes,
                "weights": self.needs.weights,
                "code": self.needs.code,
                **kind,
            },
            "latency_ms": {"value": round(self.latency_ms, 3), "kind": "estimated"},
            "energy_mj": {"value": round(self.energy_mj, 4), "kind": self.energy_kind},
            "reasons": list(self.reasons),
            "notes": list(self.notes),
        }

    def _slow_ram(self) -> dict[str, Any] | None:
        """Return the JSON object on the use of the second memory, or None if the complete arena is in the first
        memory."""
        second = self.needs.second
        if second is None or not self.needs.slow_ram:
            return None
        return {
            "region": second.name,
            "needed": self.needs.slow_ram,
            "available": second.size,
            "arena": self.needs.arena_slow,
        }


def fit(
    needs: FirmwareRequirements,
    board: Board,
    alternatives: Sequence[tuple[str, FirmwareRequirements]] = (),
    *,
    fast_ram: int | None = None,
) -> FitVerdict:
    """Compare ``needs`` with the memory of ``board``.

    ``alternatives`` are other ways to build the same model, such as ("--optimise flash", needs). The reasons name the
    first alternative that fits, and the bytes that it takes. ``fast_ram`` is the largest number of bytes that the arena
    may take of the first memory.
    """
    reasons = []
    ram_short = needs.ram - board.ram_bytes
    if ram_short > 0:
        code = f" (--code-in-ram takes {needs.code_in_ram:,} B)" if needs.code_in_ram else ""
        reasons.append(f"needs {ram_short:,} B more SRAM{code}" + _better(alternatives, board, "ram"))
    flash_short = needs.flash - board.flash_bytes
    if flash_short > 0:
        reasons.append(f"needs {flash_short:,} B more flash" + _better(alternatives, board, "flash"))
    over = 0 if fast_ram is None else needs.arena_fast - fast_ram
    if over > 0:
        reasons.append(
            f"the arena takes {over:,} B more of {board.ram[0].name} than the limit of {fast_ram:,} B"
        )
    if needs.second is not None and needs.slow_ram > needs.second.size:
        reasons.append(f"needs {needs.slow_ram - needs.second.size:,} B more {needs.second.name}")
    latency_ms = needs.cycles / board.clock_hz * 1e3
    power = board.power
    watts = power.active_ma / 1e3 * power.supply_v if power else ASSUMED_W_PER_HZ * board.clock_hz
    kind = "estimated" if power else "assumed"
    return FitVerdict(
        board,
        needs,
        not reasons,
        latency_ms,
        watts * latency_ms,
        kind,
        tuple(reasons),
        fast_ram,
        _notes(needs, board),
    )


def _notes(needs: FirmwareRequirements, board: Board) -> tuple[str, ...]:
    """Return a note on the effect of the second memory's speed if it holds a part of the arena, else no note."""
    if needs.second is None or not needs.slow_ram:
        return ()
    arena_part = f"{needs.arena_slow:,} B of the arena in {needs.second.name}"
    ms = needs.slow_cycles / board.clock_hz * 1e3
    if ms == 0:
        return (f"{arena_part}, as fast as {board.ram[0].name}",)
    pace = "slower" if ms > 0 else "faster"
    return (f"{arena_part}, {pace}: about {abs(ms):,.2f} ms per inference (estimated)",)


def _better(alternatives: Sequence[tuple[str, FirmwareRequirements]], board: Board, memory: str) -> str:
    """Return the end of a reason, which names the first alternative that fits and its bytes of ``memory`` ("ram" or
    "flash"). Return "" if no alternative fits."""
    for option, requirements in alternatives:
        if requirements.ram <= board.ram_bytes and requirements.flash <= board.flash_bytes:
            return f": try {option} (then {getattr(requirements, memory):,} B)"
    return ""
