"""Make the rows of the camera benchmark's table: targets, measurements, and whether the targets are met."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.camera.answer_agreement import FLOAT, PILLOW, AnswerAgreement
from benchmarks.camera.cold_start import ColdStart
from benchmarks.camera.comparison import LoopComparison, PeerComparison
from benchmarks.camera.frame_jitter import FrameJitter

#: Targets: the minimum speed-up over MediaPipe, the maximum ratio of the 99th percentile to the median of the time per
#: frame, and the maximum time and memory of a cold start.
PEER_SPEEDUP = 1.5
MAX_JITTER_RATIO = 1.5
COLD_SECONDS, COLD_MB = 0.25, 60.0


@dataclass(frozen=True)
class Row:
    """A row of the table. ``what`` is its title, ``met`` says whether the target is met (None without a target). Rows
    of the same ``group`` are listed together."""

    group: str
    what: str
    target: str
    measured: str
    met: bool | None = None
    kind: str = "measured"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ms(values: list[int]) -> float:
    """Return the median of times in nanoseconds as milliseconds."""
    return float(np.median(values)) / 1e6


def stage_text(comparison: LoopComparison) -> str:
    """Return the median time of each stage and of the remaining work per frame, in milliseconds, as text."""
    times = comparison.ours
    parts = {name: ms(values) for name, values in times.stages.items()}
    rest = ms(times.frame_ns) - sum(parts.values())
    return ", ".join(f"{name} {value:.3f}" for name, value in (parts | {"the rest": rest}).items())


def memory_row(comparison: LoopComparison) -> Row:
    """Return a row with the loop's time outside of ``invoke``, for frames in main memory. It has no target."""
    times = comparison.ours
    invoke, overhead = ms(times.stages["invoke"]), ms(times.overhead_ns())
    return Row(
        "overhead",
        f"overhead without invoke, {comparison.case.title}, frames in main memory",
        "",
        f"{overhead / invoke:.3f} × invoke ({overhead * 1e3:.0f} of {invoke * 1e3:.0f} µs; "
        f"{ms(comparison.naive) / ms(times.frame_ns):.2f} × faster than plain OpenCV code)",
    )


def naive_rows(comparison: LoopComparison) -> list[Row]:
    """Return two rows: the loop's time outside of ``invoke``, and its speed compared with plain OpenCV code."""
    case, times = comparison.case, comparison.ours
    invoke, overhead, total = ms(times.stages["invoke"]), ms(times.overhead_ns()), ms(times.frame_ns)
    theirs, rows = ms(comparison.naive), []
    share = overhead / invoke
    rows.append(
        Row(
            "overhead",
            f"overhead without invoke, {case.title}",
            f"≤ {case.overhead} × invoke" if case.overhead else "",
            f"{share:.3f} × invoke ({overhead * 1e3:.0f} of {invoke * 1e3:.0f} µs)",
            share <= case.overhead if case.overhead else None,
        )
    )
    # The largest possible speed-up, because no loop can be faster than the model alone.
    bound = theirs / invoke
    rows.append(
        Row(
            "naive",
            f"whole frame against plain OpenCV code, frames in memory, {case.title}",
            "",
            f"{theirs / total:.2f} × ({theirs:.2f} against {total:.2f} ms; invoke alone would be {bound:.2f} ×)",
        )
    )
    return rows


def recorded_row(comparison: LoopComparison) -> Row:
    """Return a row with the loop's speed compared with plain OpenCV code, if both read a recording."""
    case, times = comparison.case, comparison.ours
    theirs, total = ms(comparison.naive), ms(times.frame_ns)
    return Row(
        "naive",
        f"whole frame against plain OpenCV code, cv2.VideoCapture on a recording, {case.title}",
        f"≥ {case.speedup:g} × faster",
        f"{theirs / total:.2f} × ({theirs:.2f} against {total:.2f} ms)",
        theirs / total >= case.speedup,
    )


#: For each row on MediaPipe: its input format, its number of processors (0: all), the end of the title, and the minimum
#: speed-up of Arenite's loop, or None. Only a row with one processor has a target, because all contenders of the table
#: use one thread.
_PEERS = (
    ("rgb", 1, "given RGB, on one processor", PEER_SPEEDUP),
    ("yuyv", 1, "from the camera's YUYV, on one processor", None),
    ("rgb", 0, "given RGB, on all processors", None),
)


def peer_rows(comparison: PeerComparison) -> list[Row]:
    """Return the rows with the loop's speed compared with MediaPipe. Each row uses the faster of MediaPipe's two
    running modes."""
    ours, invoke = ms(comparison.ours.frame_ns), ms(comparison.ours.stages["invoke"])
    rows = []
    for input_format, processors, text, min_ratio in _PEERS:
        theirs, mode = min(
            (ms(values), key[0])
            for key, values in comparison.peer.items()
            if key[1:] == (input_format, processors)
        )
        rows.append(
            Row(
                "peer",
                f"whole frame against MediaPipe Tasks FaceDetector {comparison.version}, {text}",
                f"≥ {min_ratio} × faster" if min_ratio else "",
                f"{theirs / ours:.2f} × ({theirs:.2f} against {ours:.2f} ms, {mode} mode; "
                f"invoke alone would be {theirs / invoke:.2f} ×)",
                theirs / ours >= min_ratio if min_ratio else None,
            )
        )
    return rows


def steady_row(jitter: FrameJitter) -> Row:
    """Return a row with the ratio of the 99th percentile to the median of the time per frame."""
    rate = "at full speed" if jitter.fps is None else f"at {jitter.fps:g} frames per second"
    return Row(
        "steady",
        f"p99 / p50 of the loop, BlazeFace, {rate}",
        f"≤ {MAX_JITTER_RATIO}",
        f"{jitter.ratio:.2f} ({jitter.p99:.2f} and {jitter.p50:.2f} ms over {jitter.frames} frames)",
        jitter.ratio <= MAX_JITTER_RATIO,
    )


def cold_row(start: str, cold_start: ColdStart) -> Row:
    """Return a row with the time until the first answer and the peak memory. ``start`` says how the loop was started,
    such as "from Python"."""
    return Row(
        "cold",
        f"cold start to the first answer, BlazeFace on LiteRT, {start}",
        f"≤ {COLD_SECONDS} s, ≤ {COLD_MB:.0f} MB",
        f"{cold_start.seconds:.3f} s, {cold_start.peak_mb:.1f} MB (medians of {cold_start.runs})",
        cold_start.seconds <= COLD_SECONDS and cold_start.peak_mb <= COLD_MB,
    )


def answer_rows(title: str, agreement: AnswerAgreement) -> list[Row]:
    """Return rows that show how often the loop's answers and input tensors equal those of the references. ``title`` is
    the title of the model."""
    references = {
        FLOAT: "Pillow in float arithmetic at the same sample points",
        PILLOW: "Pillow's resize, which averages over all pixels",
    }
    rows = [
        Row(
            "answers",
            f"top answer equal to that of {text}, {title}",
            "the same on every frame" if reference == FLOAT else "",
            f"{agreement.same[reference]} of {agreement.frames}",
            agreement.same[reference] == agreement.frames if reference == FLOAT else None,
        )
        for reference, text in references.items()
    ]
    rows.append(
        Row(
            "answers",
            f"skew: input tensors equal to the NumPy reference, {title}",
            "every byte",
            f"{agreement.frames - agreement.skew} of {agreement.frames}",
            agreement.skew == 0,
        )
    )
    return rows
