"""The bench: generate, build, flash or start, feed every sample, check every byte, and report.

The result is ``arenite.bench/1``. On an emulated board a figure called instructions is counted exactly by the
emulator's clock; on a real board the same ticks are microseconds. Cycles are estimated: from one more inference under a
plugin that counts instructions by class, or by a rule of thumb.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.errors import ArenaError, UsageError
from arenite.host.bench import cycles
from arenite.host.bench.drivers import Measured, Progress, measure, measure_mlperf
from arenite.host.bench.elf import ElfSizes, read_elf
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import Samples, accuracy
from arenite.host.emulator.layer_code import layer_code, stages_of
from arenite.host.emulator.machine import start
from arenite.host.emulator.profile import Profile, profile
from arenite.host.evidence import keep_run
from arenite.host.flash.build import build
from arenite.host.link.transport import SerialTransport, Transport
from arenite.host.prepare import Prepared
from arenite.host.project import Project, generate_project
from arenite.host.report.segments import describe_segments
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class Options:
    optimise: str | None = None  # None: the fastest that fits the board
    protocol: str = "arenite"
    port: str | None = None
    stateful: bool = False  # keep state carried between inferences from one sample to the next
    keep: Path | None = None  # leave the project here
    stream_input: bool = False  # the model takes its input row by row
    cycles: bool | None = None  # profile one inference for its cycles; None: where that is possible


def bench(
    prepared: Prepared, board: Board, samples: Samples, options: Options, progress: Progress
) -> dict[str, Any]:
    """Measure ``prepared`` on ``board``. ``progress(step, done, total)`` is told what happens.

    Raises ``UsageError`` for options that do not go together and ``DoesNotFitError``, both before anything is built;
    ``ToolError`` and ``DeviceError`` for what fails later.
    """
    if not board.emulated and options.port is None:
        raise UsageError(f"{board.name} is a real board.", "Name its serial port with --port.")
    if options.stateful and options.protocol == "mlperf":
        raise UsageError("The MLPerf monitor starts every inference afresh.", "Leave out --stateful.")
    if options.stream_input and options.protocol == "mlperf":
        raise UsageError("The MLPerf monitor keeps the whole input.", "Leave out --stream-input.")
    with _folder(options.keep) as folder:
        project = generate_project(
            prepared,
            board,
            folder,
            optimise=options.optimise,
            protocol=options.protocol,
            stream_input=options.stream_input,
        )
        progress("build", 0, 1)
        elf = build(folder)
        with _transport(project, elf, options.port) as line:
            feed = measure_mlperf if options.protocol == "mlperf" else measure
            measured = feed(line, project.generated, samples, options.stateful, progress)
        profiled, why_not = _profile(project, elf, samples, options, progress)
        sizes = read_elf(elf)
        if options.keep is not None and measured.memory is not None:
            keep_run(folder, elf, measured.memory)
    progress("check", 0, len(samples))
    reference = Reference(prepared.reference)
    exact = 0
    differences: list[float | None] = []
    for k, (inputs, got) in enumerate(zip(samples.inputs, measured.outputs, strict=True)):
        want = reference.run(inputs, reset=k == 0 or not options.stateful)
        exact += all(a.tobytes() == b.tobytes() for a, b in zip(want, got, strict=True))
        differences += [_difference(a, b) for a, b in zip(want, got, strict=True)]
        progress("check", k + 1, len(samples))
    numbers = [d for d in differences if d is not None]
    worst = max(numbers, default=0) if len(numbers) == len(differences) else None
    report = _report(prepared, project, samples, measured, sizes, exact, worst, profiled)
    remarks = [why_not, cycles.remark(profiled) if profiled is not None else None]
    report["notes"] = [text for text in remarks if text is not None]
    return report


def _profile(
    project: Project, elf: Path, samples: Samples, options: Options, progress: Progress
) -> tuple[Profile | None, str | None]:
    """A profile of the first sample's inference, or None, with the reason where it was to be expected.

    Raises what ``profile`` raises when cycles were asked for.
    """
    if options.cycles is False:
        return None, None
    if not project.board.emulated:
        if options.cycles:
            raise UsageError("--cycles needs an emulated board.", "A real board measures its time.")
        return None, None
    one = Samples(samples.inputs[:1], None)
    feed = measure_mlperf if options.protocol == "mlperf" else measure
    progress("profile", 0, 1)
    try:
        code = layer_code(elf, stages_of(project.generated))
        return profile(
            project.board, elf, code, lambda line: feed(line, project.generated, one, False, lambda *_: None)
        ), None
    except ArenaError as error:
        if options.cycles:
            raise
        return None, f"Cycles are a rule of thumb here: {error.problem} {error.hint}".strip()


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="arenite-") as made:
            yield Path(made) / "project"


@contextmanager
def _transport(project: Project, elf: Path, port: str | None) -> Iterator[Transport]:
    """An open line to the device that runs ``elf``."""
    if project.board.emulated:
        with start(project.board, elf) as machine:
            yield machine.transport
        return
    assert port is not None
    from arenite.host.flash.flash import flash

    flash(project.directory, project.board, port)
    line = SerialTransport(port, project.board.uart.baud)
    try:
        yield line
    finally:
        line.close()


def _difference(want: np.ndarray, got: np.ndarray) -> float | None:
    """The largest difference of two outputs; None where it is no number (a NaN or an infinity in one of them)."""
    if want.tobytes() == got.tobytes():
        return 0
    if want.dtype.kind != "f":
        return max(abs(int(a) - int(b)) for a, b in zip(want.flat, got.flat, strict=True))
    same = (want == got) | (np.isnan(want) & np.isnan(got))
    a, b = (x[~same].astype(np.float64) for x in (want, got))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    return float(np.max(np.abs(a - b), initial=0))


def percentiles(values: Sequence[int]) -> dict[str, int]:
    """Nearest-rank percentiles, so that every figure is one that was measured."""
    ranked = sorted(values)

    def at(share: float) -> int:
        return ranked[max(0, -(-int(share * len(ranked) * 1000) // 1000) - 1)]

    return {"p50": at(0.50), "p95": at(0.95), "p99": at(0.99), "min": ranked[0], "max": ranked[-1]}


def _instructions(board: Board, tick_hz: int) -> Callable[[int], int] | None:
    """Ticks to instructions on an emulated board, exact to the tick; None on a real one."""
    emulator = board.emulator
    if emulator is None:
        return None
    if tick_hz:
        return lambda ticks: emulator.instructions_in_us(round(ticks * 1e6 / tick_hz))
    return emulator.instructions


def _report(
    prepared: Prepared,
    project: Project,
    samples: Samples,
    m: Measured,
    sizes: ElfSizes,
    exact: int,
    worst: float | None,
    profiled: Profile | None,
) -> dict[str, Any]:
    board, p = project.board, project.prediction
    count = _instructions(board, m.tick_hz)
    instructions = percentiles([count(t) for t in m.ticks]) if count else None
    latency = None
    if count is None and m.tick_hz:
        latency = {k: round(v * 1e6 / m.tick_hz, 1) for k, v in percentiles(m.ticks).items()}
    estimate = None
    if profiled is not None:
        estimate = cycles.by_profile(profiled)
    elif instructions is not None:
        estimate = cycles.by_rule_of_thumb(board.core, instructions["p50"])
    stack = m.memory.stack_used if m.memory else p.stack
    graph = prepared.source.main
    first = graph.tensors[graph.outputs[0]] if graph.outputs else None
    return {
        "schema": "arenite.bench/1",
        "model": {
            "path": str(prepared.path),
            "sha256": prepared.sha256,
            "macs": prepared.source_macs,
            "macs_after_passes": prepared.macs,
        },
        "passes": [r.to_json() for r in prepared.passes],
        "board": {"name": board.name, "core": board.core},
        "protocol": project.protocol,
        "optimise": project.optimise,
        "samples": {
            "count": len(samples),
            "bit_exact": exact,
            "max_abs_diff": worst,
            "accuracy": accuracy([o[0] for o in m.outputs], samples.labels, first),
        },
        "inference": {"instructions": instructions, "latency_us": latency, "cycles": estimate},
        "init": {"instructions": max(map(count, m.init_ticks)) if count and m.init_ticks else None},
        "memory": {
            "arena": sizes.arena,
            "arena_lower_bound": project.prepared.plan.lower_bound,
            "arena_status": project.prepared.plan.status,
            "stack": stack,
            # The monitor protocol cannot tell; the bound stands in, and says so.
            "stack_kind": "measured" if m.memory else "estimated",
            "static": sizes.static,
            "ram_total": sizes.arena + stack + sizes.static,
            "predicted_arena": p.arena,
            "predicted_stack": p.stack,
            "predicted_static": p.static,
            "predicted_ram_total": p.ram_total,
        },
        "flash": {
            "weights": sizes.weights,
            "code": sizes.code,
            "total": sizes.weights + sizes.code,
            "predicted_weights": p.weights,
            "predicted_code": p.code,
            "predicted_total": p.flash_total,
        },
        "layers": _layers(project, m, count, profiled),
        "segments": describe_segments(
            project.generated.model.main, project.prepared.plan, project.prepared.needs
        ),
        "classes": cycles.histogram(profiled) if profiled is not None else None,
        "energy": None,
    }


def tier_of(kernel: str) -> str:
    """The instructions that a kernel was written for, by its name: "dsp", "mve", or "scalar" for plain C."""
    found = re.search(r"_(dsp|mve)(_|$)", kernel)
    return found[1] if found else "scalar"


def _layers(
    project: Project, m: Measured, count: Callable[[int], int] | None, profiled: Profile | None
) -> list[dict[str, Any]]:
    """One entry per operator of the plan; 0 instructions where none were needed, None where nobody counted."""
    medians = [int(np.median(column)) for column in zip(*m.layer_ticks, strict=True)]
    measured = iter(medians)
    spent = iter([round(layer.cycles) for layer in profiled.layers]) if profiled is not None else None
    rows = []
    graph = project.generated.model.main
    for layer in project.generated.layers:
        ticks = None
        if medians:
            ticks = next(measured) if layer.call is not None else 0
        needed = None
        if spent is not None:
            needed = next(spent) if layer.call is not None else 0
        rows.append(
            {
                "index": layer.index,
                "op": layer.op.name,
                "macs": layer.macs,
                "instructions": count(ticks) if count and ticks is not None else None,
                "cycles": needed,
                "ticks": ticks,
                "kernel": layer.call.kernel if layer.call is not None else None,
                "tier": tier_of(layer.call.kernel) if layer.call is not None else None,
                "shape": ", ".join("x".join(map(str, t.shape)) for t in graph.out_tensors(layer.op)),
            }
        )
    return rows
