"""Image × board → verdict: does it fit, and if not, by how many bytes it misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arenite.profiles.board import Board, MemoryRegion

#: For boards whose profile has no current: 100 uA/MHz at 3.3 V, about the middle of today's microcontrollers. Assumed.
ASSUMED_W_PER_HZ = 100e-6 * 3.3 / 1e6


@dataclass(frozen=True)
class FirmwareRequirements:
    """What a firmware takes, in bytes, and what an inference costs.

    ``optimise``: the goal that it is built for. ``stack`` is an upper bound. ``exact`` is False where the board's own
    start-up code could not be measured; then ``code`` and ``static`` are estimates. ``instructions`` per inference and
    ``cycles_per_instruction`` are estimates.

    Of an arena over two memories, ``arena_slow`` bytes lie in ``second`` and take ``slow_ram`` bytes of it, guard words
    included; accesses there last ``slow_cycles`` longer in all than in the first memory, an estimate (negative where
    the second is the faster one).
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

    @property
    def ram(self) -> int:
        """Of the first memory."""
        return self.arena + self.static + self.stack - self.slow_ram

    @property
    def arena_fast(self) -> int:
        """What of the arena lies in the first memory."""
        return self.arena - self.arena_slow

    @property
    def cycles(self) -> float:
        """Per inference, an estimate."""
        return self.instructions * self.cycles_per_instruction + self.slow_cycles

    @property
    def flash(self) -> int:
        return self.weights + self.code


@dataclass(frozen=True)
class FitVerdict:
    """The answer for one board. Latency in ms per inference is an estimate; so is energy in mJ where the profile has
    the board's current and supply, otherwise ``energy_kind`` is "assumed"."""

    board: Board
    needs: FirmwareRequirements
    fits: bool
    latency_ms: float
    energy_mj: float
    energy_kind: str
    reasons: tuple[str, ...] = field(default=())
    fast_ram: int | None = None  # what the arena may take of the first memory, where somebody set a limit
    notes: tuple[str, ...] = field(default=())

    @property
    def missing(self) -> int:
        """Bytes of RAM and flash that the board would need more; 0 when it fits."""
        ram, flash = self.needs.ram - self.board.ram_bytes, self.needs.flash - self.board.flash_bytes
        over = 0 if self.fast_ram is None else self.needs.arena_fast - self.fast_ram
        return max(ram, over, 0) + max(flash, 0)

    def to_json(self) -> dict[str, Any]:
        """The board's entry of ``arenite.fit/1``."""
        kind = {} if self.needs.exact else {"kind": "estimated"}
        return {
            "board": self.board.name,
            "optimise": self.needs.optimise,
            "fits": self.fits,
            "ram": {
                "needed": self.needs.ram,
                "available": self.board.ram_bytes,
                "arena": self.needs.arena_fast,
                "stack": self.needs.stack,
                "static": self.needs.ram - self.needs.arena_fast - self.needs.stack,
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
        """The second memory, where a part of the arena lies in one."""
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
    """Compare ``needs`` with the memory of ``board``. ``fast_ram``: what the arena may take of the first one.

    ``alternatives`` are other ways to build the same model, such as ("--optimise flash", needs): the reasons name the
    first one that fits, and what it would take.
    """
    reasons = []
    ram_short = needs.ram - board.ram_bytes
    if ram_short > 0:
        reasons.append(f"needs {ram_short:,} B more SRAM" + _better(alternatives, board, "ram"))
    flash_short = needs.flash - board.flash_bytes
    if flash_short > 0:
        reasons.append(f"needs {flash_short:,} B more flash" + _better(alternatives, board, "flash"))
    over = 0 if fast_ram is None else needs.arena_fast - fast_ram
    if over > 0:
        reasons.append(
            f"the arena takes {over:,} B more of {board.ram[0].name} than the {fast_ram:,} B it may"
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
    """What it means that a part of the arena lies in a second memory."""
    if needs.second is None or not needs.slow_ram:
        return ()
    where = f"{needs.arena_slow:,} B of the arena in {needs.second.name}"
    ms = needs.slow_cycles / board.clock_hz * 1e3
    if ms == 0:
        return (f"{where}, as fast as {board.ram[0].name}",)
    pace = "slower" if ms > 0 else "faster"
    return (f"{where}, {pace}: about {abs(ms):,.2f} ms per inference (estimated)",)


def _better(alternatives: Sequence[tuple[str, FirmwareRequirements]], board: Board, what: str) -> str:
    """The first alternative that fits, as the end of a reason; nothing when none does."""
    for option, other in alternatives:
        if other.ram <= board.ram_bytes and other.flash <= board.flash_bytes:
            return f": try {option} (then {getattr(other, what):,} B)"
    return ""
