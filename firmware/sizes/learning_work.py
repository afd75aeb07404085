"""What the part of an application that learns does in each window: how often each of its loops runs.

The divisions take longer for larger values, so the costs are those of usual ones: of an embedding whose values vary by
one to twelve units. All classes count as taught. While a window is taught or the state is saved, it takes longer.
"""

from __future__ import annotations

from arenite.converters.anomaly.plan import AnomalyPlan
from arenite.firmware.app.learning_glue import Learning

Work = dict[str, float]

#: What the line of an anomaly has instead of a percentage, with usual numbers.
DETAIL = "100.000, normal up to 10.000"


def learning_work(plan: AnomalyPlan) -> Work:
    """Return the work of judging and learning the output of one inference."""
    size, rank, classes = plan.size, plan.head.rank, plan.head.classes
    has_difference = plan.units is not None
    rotations = rank * (rank + 1) // 2
    return {
        "window": 1,
        "value": size * (rank == 0),
        "difference": size * has_difference,
        "low-rank window": bool(rank),
        "low-rank value": size * bool(rank),
        "direction": rank,
        "direction value": size * rank,
        "rotation": rotations,
        "rotated value": size * rotations,
        "class window": bool(classes),
        "class": classes,
        "class value": size * classes,
    }


def save_work(plan: AnomalyPlan) -> Work:
    """Return the work of saving the state in the flash memory of an emulated board, with the erasure of a block."""
    learning = Learning(plan, 0, 1, 1)
    return {
        "save": 1,
        "erased page": learning.flash_pages // learning.blocks,
        "saved byte": learning.record_dtype.itemsize,
    }
