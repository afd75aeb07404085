"""Image × board → verdict: does it fit, and if not, by how many bytes it misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arenite.profiles.boards import Board

#: For boards whose profile has no current: 100 uA/MHz at 3.3 V, about the middle of today's microcontrollers. Assumed.
ASSUMED_W_PER_HZ = 100e-6 * 3.3 / 1e6


@dataclass(frozen=True)
class Needs:
    """What a firmware takes, in bytes, and what an inference costs.

    ``optimise``: the goal that it is built for. ``stack`` is an upper bound. ``exact`` is False where the board's own
    start-up code could not be measured; then ``code`` and ``static`` are estimates. ``instructions`` per inference and
    ``cycles_per_instruction`` are estimates.
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

    @property
    def ram(self) -> int:
        return self.arena + self.static + self.stack

    @property
    def flash(self) -> int:
        return self.weights + self.code


@dataclass(frozen=True)
class Verdict:
    """The answer for one board. Latency in ms per inference is an estimate; so is energy in mJ where the profile has
    the board's current and supply, otherwise ``energy_kind`` is "assumed"."""

    board: Board
    needs: Needs
    fits: bool
    latency_ms: float
    energy_mj: float
    energy_kind: str
    reasons: tuple[str, ...] = field(default=())

    @property
    def missing(self) -> int:
        """Bytes of RAM and flash that the board would need more; 0 when it fits."""
        ram, flash = self.needs.ram - self.board.ram_bytes, self.needs.flash - self.board.flash_bytes
        return max(ram, 0) + max(flash, 0)

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
                "arena": self.needs.arena,
                "stack": self.needs.stack,
                "static": self.needs.static,
                **kind,
            },
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
        }


def fit(needs: Needs, board: Board, alternatives: Sequence[tuple[str, Needs]] = ()) -> Verdict:
    """Compare ``needs`` with the memory of ``board``.

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
    if ram_short > 0 and any(r.kind == "psram" and r.size >= needs.arena for r in board.ram[1:]):
        reasons.append("the arena would fit the board's PSRAM, which the generated project does not use")
    latency_ms = needs.instructions * needs.cycles_per_instruction / board.clock_hz * 1e3
    power = board.power
    watts = power.active_ma / 1e3 * power.supply_v if power else ASSUMED_W_PER_HZ * board.clock_hz
    kind = "estimated" if power else "assumed"
    fits = not (ram_short > 0 or flash_short > 0)
    return Verdict(board, needs, fits, latency_ms, watts * latency_ms, kind, tuple(reasons))


def _better(alternatives: Sequence[tuple[str, Needs]], board: Board, what: str) -> str:
    """The first alternative that fits, as the end of a reason; nothing when none does."""
    for option, other in alternatives:
        if other.ram <= board.ram_bytes and other.flash <= board.flash_bytes:
            return f": try {option} (then {getattr(other, what):,} B)"
    return ""
