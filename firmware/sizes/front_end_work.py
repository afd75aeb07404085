"""What the front ends of applications do for each new row of features, from the numbers of their plans: how often each
of their loops runs. ``instructions.py`` has the costs.

Only a few branches depend on the samples: the roots and logarithms of a value of 0, and the square root of the micro
front end, which is shorter for values below 2^32. Costs were fitted to several signals, and the largest are kept.
"""

from __future__ import annotations

from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.imu.plan import ImuPlan
from arenite.converters.processing.specification.imu_steps import STATISTICS

Work = dict[str, float]


def row_work(plan: AudioPlan | MicroPlan | ImuPlan, rows: int, feeds: float) -> tuple[str, Work]:
    """Return the name of a front end, and its work from one window to the next: ``rows`` new rows of features, whose
    samples arrive in ``feeds`` calls. A window of motion is one row."""
    if isinstance(plan, ImuPlan):
        kind, row = "motion", _motion(plan)
        values, length, shared = (
            plan.hop * plan.axes,
            plan.window * plan.axes,
            (plan.window - plan.hop) * plan.axes,
        )
    else:
        kind, row = ("micro", _micro(plan)) if isinstance(plan, MicroPlan) else ("sound", _spectrum(plan))
        values, length, shared = plan.step * rows, plan.length, plan.length - plan.step
    work = {name: rows * count for name, count in row.items()}
    # Samples are copied in words if all their addresses allow it.
    unit = "half" if (length | max(shared, 0)) % 2 else "word"
    work |= {"feed": feeds, f"value {unit}": values, f"kept {unit}": max(shared, 0) * rows, "row end": rows}
    if not isinstance(plan, ImuPlan):
        unit = "word" if plan.features % 4 == 0 else "half" if plan.features % 2 == 0 else "byte"
        work |= {f"fill {unit}": plan.frames * plan.features, "window end": 1}
    return kind, work


def _micro(plan: MicroPlan) -> Work:
    half = plan.fft // 2
    size = 1
    while 4 * size < half:
        size *= 4
    has_two = 4 * size != half
    work: Work = {
        "row": 1,
        "sample": plan.length,
        "pair": half,
        "first stage": half * has_two,
        "plain butterfly": 0,
        "butterfly": 0,
        "turn": 0,
        "stage": 0,
    }
    size = 2 if has_two else 1
    while size < half:
        work["stage"] += 1
        work["plain butterfly"] += half // (4 * size)
        work["turn"] += size - 1
        work["butterfly"] += (size - 1) * (half // (4 * size))
        size *= 4
    bank = plan.bank
    bins = int(bank.count.sum())
    work |= {
        "separate": half // 2,
        "bin": bins,
        "own rest": bins * (not bank.is_complementary),
        "channel": plan.features,
        "gain": plan.features * (plan.gains is not None),
        "logarithm": plan.features * (plan.logs is not None),
    }
    return work


def _spectrum(plan: AudioPlan) -> Work:
    """Return the work from the samples of a frame to its features."""
    half = plan.fft // 2
    work: Work = {
        "frame": 1,
        "sample": plan.length,
        "value": plan.fft,
        "windowed": plan.length * (plan.window is not None),
        "emphasized": plan.length * bool(plan.preemphasis),
        "stage": 0,
        "plain butterfly": 0,
        "turn": 0,
        "butterfly": 0,
    }
    size = 1
    while size < half:
        work["stage"] += 1
        work["plain butterfly"] += half // (2 * size)
        work["turn"] += size - 1
        work["butterfly"] += (size - 1) * (half // (2 * size))
        size *= 2
    filters = plan.filters
    last = filters.last_bin
    taps = int(filters.count.sum())
    is_power = plan.power == 2
    work |= {
        "separate": half // 2,
        "power": last * is_power,
        "magnitude": last * (not is_power),
        "power tap": taps * is_power,
        "magnitude tap": taps * (not is_power),
        "bin": plan.bins,
        "floor": plan.bins * plan.is_floor,
        "feature": plan.features,
        "cosine row": plan.features * (plan.cosines is not None),
        "cosine": plan.features * plan.bins * (plan.cosines is not None),
    }
    return work


def _motion(plan: ImuPlan) -> Work:
    if not plan.per_axis:
        return {"window": 1, "raw": plan.window * plan.axes}
    axes, window = plan.axes, plan.window
    work: Work = {
        "window": 1,
        "axis": axes,
        "gathered": axes * window,
        "mean removed": axes * (plan.bands is not None and plan.remove_mean),
        "sample without mean": axes * window * (plan.bands is not None and plan.remove_mean),
    }
    for kind in plan.statistics:
        name = STATISTICS[kind]
        work[name] = work.get(name, 0) + axes
        if name == "mean_crossings":
            work["crossing"] = axes * window
    if plan.bands is not None:
        work |= {f"bands {name}": axes * count for name, count in _spectrum(plan.bands).items()}
    return work
