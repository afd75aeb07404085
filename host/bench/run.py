"""The bench: generate, build, flash or start, feed every sample, check every byte, and report.

The result is ``arenite.bench/1``. On an emulated board a figure called instructions is counted exactly by the
emulator's clock; on a real board the same ticks are microseconds. Cycles are estimated: from one more inference under a
plugin that counts instructions by class, or by a rule of thumb.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError, UsageError
from arenite.firmware.generator.features import ENERGY, NO_FEATURES, Features, baud_of
from arenite.host.bench import cycles, two_cores
from arenite.host.bench.build_facts import build_facts, compiler_of, read_facts
from arenite.host.bench.devices.measure import (
    DeviceMeasurement,
    Progress,
    collect_measurement,
    measure,
    measure_mlperf,
)
from arenite.host.bench.devices.run_samples import SINGLE_BOARD, RunConfig, run_samples
from arenite.host.bench.figures import board_rows, durations, instructions_of
from arenite.host.bench.layer_rows import layer_rows
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import Samples
from arenite.host.bench.size_check import store_run_memory
from arenite.host.bench.verification import OutputVerifier, sample_figures, verify_all
from arenite.host.build.elf_sizes import ElfSizes, read_elf
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import Project, arena_regions, generate_project
from arenite.host.build.segments import describe_segments
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.emulator.machine import start
from arenite.host.emulator.profile import Profile, profile
from arenite.host.flash.build import build
from arenite.host.link.transport import SerialTransport, Transport
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class BenchConfig:
    optimise: str | None = None  # None: the fastest that fits the board
    protocol: str = "arenite"
    port: str | None = None
    stateful: bool = False  # keep state carried between inferences from one sample to the next
    keep: Path | None = None  # leave the project here
    stream_input: bool = False  # the model takes its input row by row
    cycles: bool | None = None  # profile one inference for its cycles; None: where that is possible
    features: Features = NO_FEATURES  # what the firmware has beyond serving the model
    feeding: RunConfig = SINGLE_BOARD  # over which lines the samples go, and what is kept of them
    fast_ram: int | None = (
        None  # bytes of the board's first RAM that the arena may take; None: all that are free
    )


def bench(
    prepared: Prepared, board: Board, samples: Samples, options: BenchConfig, progress: Progress
) -> dict[str, Any]:
    """Measure ``prepared`` on ``board``. ``progress(step, done, total)`` is told what happens.

    Raises ``UsageError`` for options that do not go together and ``DoesNotFitError``, both before anything is built;
    ``ToolError`` and ``DeviceError`` for what fails later.
    """
    if not board.emulated and not (options.port or options.feeding.ports):
        raise UsageError(
            f"{board.name} is a real board.", "Name its serial port: --port auto, or --port NAME."
        )
    if options.protocol == ENERGY:
        raise UsageError(
            "Firmware for MLPerf's energy mode tells its times on a pin alone.", "Use --protocol mlperf here."
        )
    if options.stateful and options.protocol == "mlperf":
        raise UsageError("The MLPerf monitor starts every inference afresh.", "Leave out --stateful.")
    if options.stream_input and options.protocol == "mlperf":
        raise UsageError("The MLPerf monitor keeps the whole input.", "Leave out --stream-input.")
    with ExitStack() as stack:
        folder = stack.enter_context(project_folder(options.keep))
        project = generate_project(
            prepared,
            board,
            folder,
            optimise=options.optimise,
            protocol=options.protocol,
            stream_input=options.stream_input,
            features=options.features,
            fast_ram=options.fast_ram,
        )
        progress("build", 0, 1)
        elf = build(folder)
        progress("build", 1, 1)
        verifier = OutputVerifier(Reference(prepared.reference), samples, stateful=options.stateful)
        ports = options.feeding.ports or ((options.port,) if options.port else ())
        run_result = run_samples(
            project,
            elf,
            samples,
            replace(options.feeding, ports=ports),
            verifier,
            lambda port: open_device(project, elf, port),
            progress,
            stack,
            stateful=options.stateful,
        )
        present = list(run_result.answers)
        measured = collect_measurement(
            project.generated, list(run_result.answers.values()), run_result.tick_hz, run_result.memory
        )
        profiled, why_not = _profile(project, elf, samples, options, progress)
        sizes, elf_facts = read_elf(elf), read_facts(elf)
        compiler = compiler_of(elf_facts, folder)
        if options.keep is not None and measured.memory is not None:
            store_run_memory(folder, elf, measured.memory)
    graph = prepared.source.main
    first = graph.tensors[graph.outputs[0]] if graph.outputs else None
    judgement = verify_all(verifier, samples, present, measured.outputs, first, progress)
    repeated = sum(s.repeated for s in run_result.served)
    told = sample_figures(len(samples), judgement, run_result.resumed, repeated, len(run_result.missing))
    report = _report(prepared, project, told, measured, sizes, profiled)
    report["build"] = build_facts(elf_facts, compiler, project.generated.sha256.hex(), samples)
    report["boards"] = board_rows(board, run_result, judgement, measured.tick_hz)
    remarks = [why_not, cycles.remark(profiled) if profiled is not None else None]
    report["two_cores"] = two_cores.report(project, profiled)
    if report["two_cores"] is not None and board.emulated:
        remarks.append(two_cores.BOTH_CORES)
    report["notes"] = [*project.notes, *(text for text in remarks if text is not None), *run_result.notes]
    run_result.finish()
    return report


def _profile(
    project: Project, elf: Path, samples: Samples, options: BenchConfig, progress: Progress
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
    once = measure_mlperf if options.protocol == "mlperf" else measure
    progress("profile", 0, 1)
    try:
        code = layer_code(elf, segment_layers(project.generated))
        return profile(
            project.board, elf, code, lambda line: once(line, project.generated, one, False, lambda *_: None)
        ), None
    except AreniteError as error:
        if options.cycles:
            raise
        return None, f"Cycles are a rule of thumb here: {error.problem} {error.hint}".strip()


@contextmanager
def project_folder(keep: Path | None) -> Iterator[Path]:
    """``keep``, or a folder that is gone afterwards."""
    if keep is not None:
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="arenite-") as temporary:
            yield Path(temporary) / "project"


@contextmanager
def open_device(project: Project, elf: Path, port: str | None) -> Iterator[Transport]:
    """An open line to the device that runs ``elf``: an emulator that is started, or a board that is flashed."""
    if project.board.emulated:
        with start(project.board, elf) as machine:
            yield machine.transport
        return
    assert port is not None
    from arenite.host.flash.flash import flash

    done = flash(project.directory, project.board, port)
    # "auto", and USB may name it anew.
    line = SerialTransport(done.port or port, baud_of(project.protocol, project.board))
    try:
        yield line
    finally:
        line.close()


def _report(
    prepared: Prepared,
    project: Project,
    told: dict[str, Any],
    m: DeviceMeasurement,
    sizes: ElfSizes,
    profiled: Profile | None,
) -> dict[str, Any]:
    board, p = project.board, project.prediction
    count = instructions_of(board, m.tick_hz)
    instructions, latency = durations(board, m.tick_hz, m.ticks)
    estimate = None
    if profiled is not None:
        estimate = cycles.by_profile(profiled)
    elif instructions is not None and not project.generated.parallel:
        estimate = cycles.by_rule_of_thumb(board.core, instructions["p50"])
    stack = m.memory.stack_used if m.memory else p.stack
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
        "samples": told,
        "inference": {"instructions": instructions, "latency_us": latency, "cycles": estimate},
        "init": {"instructions": max(map(count, m.init_ticks)) if count and m.init_ticks else None},
        "memory": {
            "arena": sizes.arena,
            "arena_regions": arena_regions(board, project.second, sizes.arena, sizes.arena_slow),
            "arena_lower_bound": project.prepared.plan.lower_bound,
            "arena_status": project.prepared.plan.status,
            "stack": stack,
            # The monitor protocol cannot tell; the bound stands in, and says so.
            "stack_kind": "measured" if m.memory else "estimated",
            "static": sizes.static,
            "ram_total": sizes.arena + stack + sizes.static,
            "predicted_arena": p.arena,
            "predicted_arena_regions": project.arena_regions(),
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
        "layers": layer_rows(project, m, count, profiled),
        "segments": describe_segments(
            project.generated.model.main, project.prepared.plan, project.prepared.needs
        ),
        "classes": cycles.histogram(profiled) if profiled is not None else None,
        "energy": None,
        "health": m.memory.health.to_json() if m.memory and m.memory.health else None,
    }
