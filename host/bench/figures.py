"""Converts ticks to the figures of a report, for all boards together and for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arenite.host.bench.devices.run_samples import RunResult, board_samples
from arenite.host.bench.verification import VerificationResult
from arenite.profiles.boards import Board


def percentiles(values: Sequence[int]) -> dict[str, int]:
    """Nearest-rank percentiles, so that every figure is a measured value."""
    ranked = sorted(values)

    def at(share: float) -> int:
        return ranked[max(0, -(-int(share * len(ranked) * 1000) // 1000) - 1)]

    return {"p50": at(0.50), "p95": at(0.95), "p99": at(0.99), "min": ranked[0], "max": ranked[-1]}


def instructions_of(board: Board, tick_hz: int) -> Callable[[int], int] | None:
    """Ticks to instructions on an emulated board, exact to the tick; None on a real one."""
    emulator = board.emulator
    if emulator is None:
        return None
    if tick_hz:
        return lambda ticks: emulator.instructions_in_us(round(ticks * 1e6 / tick_hz))
    return emulator.instructions


def durations(
    board: Board, tick_hz: int, ticks: Sequence[int]
) -> tuple[dict[str, int] | None, dict[str, float] | None]:
    """Instructions per inference of an emulated board, or microseconds of a real one; the other is None."""
    count = instructions_of(board, tick_hz)
    if count is not None:
        return percentiles([count(t) for t in ticks]), None
    if not tick_hz:
        return None, None
    return None, {k: round(v * 1e6 / tick_hz, 1) for k, v in percentiles(ticks).items()}


def board_rows(
    board: Board, run_result: RunResult, verified: VerificationResult, tick_hz: int
) -> list[dict[str, Any]]:
    """One row per board: its samples, how many of them were right, and how fast it was."""
    errors = {s.name: s for s in run_result.results}
    rows = []
    for name, samples in board_samples(run_result.results, run_result.answers).items():
        ticks = [run_result.answers[k].ticks for k in samples]
        instructions, latency = durations(board, tick_hz, ticks) if ticks else (None, None)
        served = errors.get(name)
        rows.append(
            {
                "board": name,
                "samples": len(samples),
                "bit_exact": sum(k in verified.exact for k in samples),
                "instructions": instructions,
                "latency_us": latency,
                "error": None if served is None or served.error is None else served.error.problem,
            }
        )
    return rows
