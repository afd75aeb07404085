"""Convert ticks to the figures of a report, for all boards together and for each board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arenite.host.bench.devices.run_samples import RunResult, board_samples
from arenite.host.bench.verification import VerificationResult
from arenite.profiles.boards import Board


def percentiles(values: Sequence[int]) -> dict[str, int]:
    """Return nearest-rank percentiles, the minimum and the maximum. Each returned number is one of ``values``."""
    ranked = sorted(values)

    def percentile(share: float) -> int:
        # The rank is share * len(ranked), rounded up. Decimals after the third are rounding errors of the product.
        return ranked[max(0, -(-int(share * len(ranked) * 1000) // 1000) - 1)]

    return {
        "p50": percentile(0.50),
        "p95": percentile(0.95),
        "p99": percentile(0.99),
        "min": ranked[0],
        "max": ranked[-1],
    }


def instructions_of(board: Board, tick_hz: int) -> Callable[[int], int] | None:
    """Return a function that converts ticks to instructions of an emulated board, or None for a real board."""
    emulator = board.emulator
    if emulator is None:
        return None
    if tick_hz:
        return lambda ticks: emulator.instructions_in_us(round(ticks * 1e6 / tick_hz))
    return emulator.instructions


def durations(
    board: Board, tick_hz: int, ticks: Sequence[int]
) -> tuple[dict[str, int] | None, dict[str, float] | None]:
    """Return the percentiles of (instructions per inference, microseconds per inference). The instructions are None for
    a real board. The microseconds are None for an emulated board, or if ``tick_hz`` is 0."""
    to_instructions = instructions_of(board, tick_hz)
    if to_instructions is not None:
        return percentiles([to_instructions(t) for t in ticks]), None
    if not tick_hz:
        return None, None
    return None, {k: round(v * 1e6 / tick_hz, 1) for k, v in percentiles(ticks).items()}


def board_rows(
    board: Board, run_result: RunResult, verified: VerificationResult, tick_hz: int
) -> list[dict[str, Any]]:
    """Return one row per board: number of samples, number of bit-exact samples, and speed."""
    slot_results = {s.name: s for s in run_result.results}
    rows = []
    for name, samples in board_samples(run_result.results, run_result.answers).items():
        ticks = [run_result.answers[k].ticks for k in samples]
        instructions, latency = durations(board, tick_hz, ticks) if ticks else (None, None)
        slot_result = slot_results.get(name)
        rows.append(
            {
                "board": name,
                "samples": len(samples),
                "bit_exact": sum(k in verified.exact for k in samples),
                "instructions": instructions,
                "latency_us": latency,
                "error": None
                if slot_result is None or slot_result.error is None
                else slot_result.error.problem,
            }
        )
    return rows
