"""Compare ways to wait for the next frame of a camera, side by side: ``python -m benchmarks.camera.wake_up``.

One loop serves a simulated camera with 30 frames per second and a real model on LiteRT. After every eight frames it
changes the way to wait, so load of the machine affects all ways alike. The first frame of each eight is not counted.

The table has the time from the moment that a frame is due to its answer, and the processor time per frame, which
includes polling and additional runs of the model. *Undisturbed* frames are those for which the loop never had to wait
for a processor while another program used it (the kernel counts this in schedstat): they show a quiet machine. The run
takes ``--seconds`` (150 by default). ``--docs`` updates docs/camera-performance.md, ``--json`` prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.errors import AreniteError
from arenite.files import write_atomic
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.serving.early_wake import EarlyWake
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.time_slice import set_time_slice, set_timer_slack
from arenite.host.report.generated_tables import DOCS, markdown_table, replace_section
from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.cases import cases
from benchmarks.camera.frame_ring import FrameRing
from benchmarks.camera.idle_processes import IdleProcesses
from benchmarks.camera.machine import describe_machine

FPS = 30.0
FRAMES_PER_TURN = 8
SECONDS = 150.0
WARM_UP_FRAMES = 60
#: An undisturbed frame waited for a processor for at most this time. The kernel's own work takes that long.
UNDISTURBED_NS = 20_000
#: The timer slack of Linux, and the time slice for all threads that did not request another.
TIMER_SLACK_NS = 50_000


@dataclass(frozen=True)
class Variant:
    """A way to wait. ``options`` are those of ``arenite camera``. ``early_ms`` is the time before a frame from which on
    the loop polls, and ``nap_us`` a pause between two polls. ``warm`` means a run of the model before each frame.
    ``priority`` means SCHED_FIFO, which needs rights. ``keep_awake`` means a process of idle priority on every
    processor, which never sleeps."""

    title: str
    options: str = ""
    early_ms: float = 0.0
    warm: bool = False
    nap_us: float = 0.0
    slack_ns: int = TIMER_SLACK_NS
    slice_ms: float | None = None
    priority: bool = False
    keep_awake: bool = False


VARIANTS = (
    Variant("sleep until the frame arrives", "(default)"),
    Variant("timer slack of 1 ns", slack_ns=1),
    Variant("poll in the last 0.3 ms", "`--early-wake 0.3`", 0.3, slack_ns=1),
    Variant("poll in the last 2 ms", "`--early-wake 2`", 2.0, slack_ns=1),
    Variant("poll every 50 µs, all the time", early_ms=30.0, nap_us=50, slack_ns=1),
    Variant("sleep; a process of idle priority keeps each processor awake", keep_awake=True),
    Variant("run the model before the frame", "`--warm-model`", warm=True, slack_ns=1),
    Variant("run the model, then poll", "`--warm-model --early-wake 0.3`", 0.3, True, slack_ns=1),
    Variant("time slice of 0.1 ms", "`--time-slice 0.1`", slice_ms=0.1),
    Variant(
        "poll in the last 0.3 ms, time slice",
        "`--early-wake 0.3 --time-slice 0.1`",
        0.3,
        slack_ns=1,
        slice_ms=0.1,
    ),
    Variant("real-time priority, sleep", "`--realtime 20`", priority=True),
)


@dataclass
class Sample:
    """The times of frames in nanoseconds: from the due time to the answer, of ``invoke``, of the processor, and the
    time that the loop waited for a processor."""

    total: list[int] = field(default_factory=list)
    invoke: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)
    queued: list[int] = field(default_factory=list)


class _QueueTime:
    """The time that the calling thread has waited for a processor, in nanoseconds, from Linux's schedstat."""

    def __init__(self) -> None:
        self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def read(self) -> int:
        return int(os.pread(self._file, 100, 0).split()[1])

    def close(self) -> None:
        os.close(self._file)


class _ObservedRing(FrameRing):
    """The ring of frames. For each frame it notes ``queued_ns``, the queue time before the read that delivered it."""

    def __init__(self, queue_time: _QueueTime) -> None:
        super().__init__(FPS)
        self._queue_time = queue_time
        self._before = 0
        self.queued_ns = 0

    def read(self, timeout_s: float) -> Frame | None:
        due, before = self._next_ns, self._before
        self._before = self._queue_time.read()
        # A read that begins too late may have been kept from the processor since the previous read.
        self.queued_ns = self._before if time.monotonic_ns() < due else before
        return super().read(timeout_s)


class _Turns:
    """Reads frames in the way of the present variant, and takes their times as a sink of the loop."""

    def __init__(
        self,
        variants: Sequence[Variant],
        ring: _ObservedRing,
        warm: Callable[[], None],
        idle_processes: IdleProcesses,
    ) -> None:
        self.variants, self._ring, self._idle_processes = variants, ring, idle_processes
        self.samples = [Sample() for _ in variants]
        self._queue_time = ring._queue_time
        self._readers = [
            EarlyWake(ring, v.early_ms / 1e3, warm if v.warm else None, v.nap_us / 1e6) for v in variants
        ]
        self._number = -1  # number of the last frame
        self._cpu = 0

    def read(self, timeout_s: float) -> Frame | None:
        turn, place = divmod(self._number + 1, FRAMES_PER_TURN)
        index = turn % len(self.variants)
        if place == 0:
            _apply(self.variants[index])
            self._idle_processes.run(self.variants[index].keep_awake)
        frame = self._readers[index].read(timeout_s)
        if frame is not None:
            self._number += 1
            for reader in self._readers:
                if reader is not self._readers[index]:
                    reader.forecast.add(frame)
        return frame

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        cpu = time.process_time_ns()
        turn, place = divmod(self._number, FRAMES_PER_TURN)
        if self.variants[turn % len(self.variants)].keep_awake:
            cpu += self._idle_processes.cpu_ns()
        # The first turn of each variant is not counted, because its reader still learns when frames arrive.
        if place and turn >= len(self.variants):
            sample = self.samples[turn % len(self.variants)]
            begin, end = served.spans["invoke"]
            sample.total.append(served.age_ns)
            sample.invoke.append(end - begin)
            sample.cpu.append(cpu - self._cpu)
            sample.queued.append(self._queue_time.read() - self._ring.queued_ns)
        self._cpu = cpu

    def close(self) -> None:
        pass


def _apply(variant: Variant) -> bool:
    """Set the scheduling of the calling thread. Return False if the system refuses."""
    set_timer_slack(variant.slack_ns)
    try:
        if variant.priority:
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(20))
            return True
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        return False
    # A runtime of 0 requests the system's own slice.
    return set_time_slice(variant.slice_ms or 0.0).granted or variant.slice_ms is None


@contextmanager
def _default_scheduling() -> Iterator[None]:
    try:
        yield
    finally:
        _apply(VARIANTS[0])


def measure(seconds: float, model: str = "blazeface") -> dict[str, Any]:
    """Measure all variants in turns for ``seconds`` seconds and return the result as a JSON object. A variant that the
    system refuses is left out. Raises ``AreniteError``."""
    case = next(case for case in cases() if case.name == model)
    load_before = os.getloadavg()[0]
    queue_time = _QueueTime()
    with AreniteLoop(case) as ours, _default_scheduling(), IdleProcesses() as idle_processes:
        usable = [variant for variant in VARIANTS if _apply(variant)]
        _apply(VARIANTS[0])
        ours.run(WARM_UP_FRAMES, times=LoopTimes())
        ring = _ObservedRing(queue_time)
        ring.open()
        turns = _Turns(usable, ring, ours.server.warm, idle_processes)
        loop = Loop(ring, ours.server, sinks=(turns,), duration_s=seconds, frame_reader=turns)
        loop.run()
    queue_time.close()
    return {
        "schema": "arenite.camera-wake-up/1",
        "model": case.title,
        "fps": FPS,
        "machine": describe_machine(load_before) | {"load_after": round(os.getloadavg()[0], 2)},
        "kernel": platform.release(),
        "refused": [variant.title for variant in VARIANTS if variant not in usable],
        "variants": [_figures(v, s) for v, s in zip(usable, turns.samples, strict=True) if s.total],
    }


def _figures(variant: Variant, sample: Sample) -> dict[str, Any]:
    total = np.array(sample.total) / 1e6
    quiet = total[np.array(sample.queued) <= UNDISTURBED_NS]
    return {
        "title": variant.title,
        "options": variant.options,
        "all": _percentiles(total),
        "undisturbed": _percentiles(quiet),
        "invoke_ms": round(float(np.median(sample.invoke)) / 1e6, 3),
        "cpu_ms": round(float(np.mean(sample.cpu)) / 1e6, 3),
    }


def _percentiles(times_ms: np.ndarray) -> dict[str, Any]:
    if not len(times_ms):
        return {"frames": 0, "p50_ms": None, "p99_ms": None, "ratio": None}
    p50, p99 = np.percentile(times_ms, [50, 99])
    return {
        "frames": len(times_ms),
        "p50_ms": round(float(p50), 3),
        "p99_ms": round(float(p99), 3),
        "ratio": round(float(p99 / p50), 2),
    }


def table(result: dict[str, Any]) -> str:
    """Return the Markdown table of the result, with a row per variant."""

    def cells(part: dict[str, Any]) -> list[str]:
        if part["p50_ms"] is None:
            return ["-", "-", "-", "0"]
        return [f"{part['p50_ms']:.2f}", f"{part['p99_ms']:.2f}", f"{part['ratio']:.2f}", str(part["frames"])]

    head = ["while it waits", "options", "p50", "p99", "p99/p50", "frames"]
    head += ["undisturbed: p50", "p99", "p99/p50", "frames", "invoke", "processor time"]
    rows = [
        [
            each["title"],
            each["options"],
            *cells(each["all"]),
            *cells(each["undisturbed"]),
            f"{each['invoke_ms']:.2f}",
            f"{each['cpu_ms']:.2f}",
        ]
        for each in result["variants"]
    ]
    return markdown_table(head, rows, range(2, len(head)))


def machine_text(result: dict[str, Any]) -> str:
    machine = result["machine"]
    refused = f" Not permitted here: {', '.join(result['refused'])}." if result["refused"] else ""
    return (
        f"{result['model']} on LiteRT, {result['fps']:g} frames per second. {machine['processor']}, "
        f"{machine['cores']} cores (virtual), Linux {result['kernel']}. Load of the machine: {machine['load_before']} "
        f"before the run, {machine['load_after']} after it.{refused}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.camera.wake_up", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--model", choices=[case.name for case in cases()], default="blazeface")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--docs", action="store_true", help="Also update docs/camera-performance.md.")
    options = parser.parse_args(argv)
    if platform.system() != "Linux":
        print("This benchmark needs Linux.", file=sys.stderr)
        return 2
    try:
        result = measure(options.seconds, options.model)
    except AreniteError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    text = f"{table(result)}\n\n{machine_text(result)}"
    print(json.dumps(result, indent=1) if options.json else text)
    if options.docs:
        page = DOCS / "camera-performance.md"
        write_atomic(page, replace_section(page.read_text("utf-8"), "wake-up", text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
