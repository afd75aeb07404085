"""Estimate how long an application is busy without taking samples from its sensor."""

from __future__ import annotations

import math

from arenite.converters.processing.audio.plan import AudioPlan
from arenite.firmware.boards.cores import cpi_of
from arenite.firmware.library.processing import Processing
from arenite.profiles.board import Board

#: Instructions of a row of log-mel features for each sample and stage of its FFT: 16 to 20 on a Cortex-M4.
_ROW = 20
#: Instructions for each value that an anomaly head scores and learns, and for each direction of a low-rank covariance.
_LEARN, _DIRECTION = 300, 100


def instruction_seconds(instructions: float, board: Board) -> float:
    """Return the estimated time of ``instructions``. On an emulated board it is the time of the emulator's clock."""
    emulator = board.emulator
    if emulator is not None:
        return instructions * emulator.ticks_numerator / emulator.ticks_denominator / board.clock_hz
    return instructions * cpi_of(board.core) / board.clock_hz


def row_seconds(processing: Processing, board: Board) -> float:
    """Return the estimated time of one row of log-mel features. It is 0 for other features, which take less time than
    the smallest buffer has room for."""
    plan = processing.before
    if not isinstance(plan, AudioPlan):
        return 0.0
    return instruction_seconds(_ROW * plan.fft * math.log2(plan.fft), board)


def learning_seconds(processing: Processing, board: Board) -> float:
    """Return the estimated time in which the anomaly head learns the output of one inference; 0 without a head."""
    plan = processing.anomaly
    if plan is None:
        return 0.0
    return instruction_seconds(plan.size * (_LEARN + _DIRECTION * plan.head.rank**2), board)
