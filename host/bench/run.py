"""Bench a model: generate and build its firmware, run every sample on a board, check every output byte, and report.

On an emulated board, the emulator's clock counts instructions exactly. On a real board, ticks are converted to
microseconds. Cycles are estimated, either from one more inference with an emulator plugin that counts instructions by
class, or by a rule of thumb. A board whose core is simulated from its RTL measures them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError, UsageError
from arenite.firmware.generator.features import ENERGY, baud_of
from arenite.host.bench import cycles, rtl_cycles, two_cores
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
from arenite.host.bench.result import BenchResult, FlashFigures, MemoryFigures, Percentiles
from arenite.host.bench.rtl_cycles import MeasuredCycles, RtlSimulation
from arenite.host.bench.samples import Samples
from arenite.host.bench.size_check import store_run_memory
from arenite.host.bench.verification import OutputVerifier, sample_figures, verify_all
from arenite.host.build.elf_sizes import ElfSizes, read_elf
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import Project, arena_regions, generate_project
from arenite.host.build.segments import describe_segments
from arenite.host.build.toolchain_choice import choose_toolchain
from arenite.host.emulator.emulator_choice import (
    QEMU,
    UNICORN,
    VERILATOR,
    choose_emulator,
    start_emulator,
)
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.emulator.profile import Profile, profile
from arenite.host.emulator.rtl.machine import WaitStates
from arenite.host.flash.build import build
from arenite.host.link.transport import SerialTransport, Transport
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class BenchConfig:
    """How a model is built, and how it is measured.

    Attributes:
        build: the options of the firmware.
        port: the serial port of a real board. None: ``run_config`` names the ports, or the board is emulated.
        stateful: keep the model's state from one sample to the next.
        keep: leave the generated project in this folder. None: use a temporary folder.
        cycles: profile one inference to estimate cycles. None: do so if it is possible.
        emulator: the emulator of an emulated board, ``qemu`` or ``unicorn``. None: QEMU if it is installed, else
            Unicorn.
        waits: the wait states of the memories of a board that is simulated from its RTL. None: no wait states.
        run_config: the devices that run the samples, and whether their answers are stored.
    """

    build: BuildOptions = DEFAULT_BUILD
    port: str | None = None
    stateful: bool = False
    keep: Path | None = None
    cycles: bool | None = None
    emulator: str | None = None
    waits: WaitStates | None = None
    run_config: RunConfig = SINGLE_BOARD


def bench(
    prepared: Prepared, board: Board, samples: Samples, options: BenchConfig, progress: Progress
) -> BenchResult:
    """Measure the model ``prepared`` on ``board``, and call ``progress(step, done, total)`` at every step.

    Raises:
        UsageError: options exclude each other, or the port is missing. Nothing was built.
        DoesNotFitError: the board is too small. Nothing was built.
        ToolError, DeviceError: the build, the emulator or the device failed.
    """
    if not board.emulated and not (options.port or options.run_config.ports):
        raise UsageError(
            f"{board.name} is a real board, which needs a serial port.", "Add --port auto, or --port NAME."
        )
    if options.build.protocol == ENERGY:
        raise UsageError(
            "`arenite bench` cannot measure firmware for MLPerf's energy mode, which reports times on a pin only.",
            "Use --protocol mlperf.",
        )
    if options.stateful and options.build.protocol == "mlperf":
        raise UsageError(
            "The MLPerf monitor starts every inference with fresh state.", "Leave out --stateful."
        )
    if options.build.stream_input and options.build.protocol == "mlperf":
        raise UsageError("The MLPerf monitor stores the whole input.", "Leave out --stream-input.")
    tools = choose_tools(board, options)
    options = replace(options, build=replace(options.build, toolchain=tools.toolchain))
    with ExitStack() as stack:
        folder = stack.enter_context(project_folder(options.keep))
        project = generate_project(prepared, board, folder, options.build)
        progress("build", 0, 1)
        elf = build(folder)
        progress("build", 1, 1)
        verifier = OutputVerifier(Reference(prepared.reference), samples, stateful=options.stateful)
        ports = options.run_config.ports or ((options.port,) if options.port else ())
        run_config = replace(options.run_config, ports=ports)
        simulation = None
        if tools.emulator == VERILATOR:
            logs = stack.enter_context(temporary_folder("arenite-"))
            waits = options.waits or WaitStates()
            simulation = RtlSimulation(project, elf, logs, waits, len(samples), progress)
            run_config = replace(run_config, limits=rtl_cycles.LIMITS)
        run_result = run_samples(
            project,
            elf,
            samples,
            run_config,
            verifier,
            lambda port: (
                open_device(project, elf, port, tools.emulator) if simulation is None else simulation.open()
            ),
            progress,
            stack,
            stateful=options.stateful,
        )
        answered = list(run_result.answers)
        measured = collect_measurement(
            project.generated, list(run_result.answers.values()), run_result.tick_hz, run_result.memory
        )
        measured_cycles = None if simulation is None else simulation.measured(run_result.answers.values())
        profiled, no_profile_reason = _profile(project, elf, samples, options, progress, tools.emulator)
        sizes = read_elf(elf).with_tables(project.generated.tables_beside_weights)
        elf_facts = read_facts(elf)
        compiler = compiler_of(elf_facts, folder)
        if options.keep is not None and measured.memory is not None:
            store_run_memory(folder, elf, measured.memory)
    graph = prepared.source.main
    first_output = graph.tensors[graph.outputs[0]] if graph.outputs else None
    verified = verify_all(verifier, samples, answered, measured.outputs, first_output, progress)
    repeated = sum(s.repeated for s in run_result.results)
    counts = sample_figures(len(samples), verified, run_result.resumed, repeated, len(run_result.missing))
    remarks = [*tools.reasons, no_profile_reason, cycles.remark(profiled) if profiled is not None else None]
    split = two_cores.report(project, profiled)
    if split is not None and board.emulated:
        remarks.append(two_cores.BOTH_CORES)
    result = BenchResult(
        **_figures(prepared, project, measured, sizes, profiled, measured_cycles),
        samples=counts,
        build=build_facts(
            elf_facts,
            compiler,
            project.generated.sha256.hex(),
            samples,
            tools.toolchain,
            tools.emulator,
            None if measured_cycles is None else measured_cycles.facts(),
        ),
        boards=board_rows(board, run_result, verified, measured.tick_hz),
        two_cores=split,
        notes=(*project.notes, *(text for text in remarks if text is not None), *run_result.notes),
    )
    run_result.finish()
    return result


def _profile(
    project: Project,
    elf: Path,
    samples: Samples,
    options: BenchConfig,
    progress: Progress,
    emulator: str | None,
) -> tuple[Profile | None, str | None]:
    """Profile the inference of the first sample. Return (profile, None). Without a profile, return (None, reason),
    where the reason is None if the board is real or measures its cycles, or the user turned profiling off.

    Raises the errors of ``profile`` if the user requested cycles.
    """
    if options.cycles is False or emulator == VERILATOR:
        return None, None
    if not project.board.emulated:
        if options.cycles:
            raise UsageError(
                "--cycles needs an emulated board.", "Remove --cycles. A real board measures its time."
            )
        return None, None
    if emulator == UNICORN:
        if options.cycles:
            raise UsageError(
                "--cycles needs QEMU, which counts instructions by class.",
                "Use --emulator qemu, or remove --cycles.",
            )
        return None, "Cycles are estimated by a rule of thumb: Unicorn does not count instructions by class."
    first_sample = Samples(samples.inputs[:1], None)
    run_sample = measure_mlperf if options.build.protocol == "mlperf" else measure
    progress("profile", 0, 1)
    try:
        code = layer_code(elf, segment_layers(project.generated))
        return profile(
            project.board,
            elf,
            code,
            lambda line: run_sample(line, project.generated, first_sample, False, lambda *_: None),
        ), None
    except AreniteError as error:
        if options.cycles:
            raise
        return None, f"Cycles are estimated by a rule of thumb: {error.problem} {error.hint}".strip()


@dataclass(frozen=True)
class Tools:
    """The toolchain and the emulator of a bench run. ``emulator`` is None for a real board. ``reasons`` has a
    sentence for each default tool that is replaced by another one, because it is not installed."""

    toolchain: str
    emulator: str | None
    reasons: tuple[str, ...]


def choose_tools(board: Board, options: BenchConfig) -> Tools:
    """Return the tools that build and emulate ``board``. An emulated board on a port of ``options`` needs no emulator.

    Raises:
        UsageError: a requested tool does not support the board.
        ToolError: a tool is not installed.
    """
    if board.rtl is not None:
        rtl_cycles.require_supported(
            board,
            options.build,
            options.cycles,
            {
                "--port": options.port or options.run_config.ports,
                "--emulator": options.emulator,
                "--resume": options.run_config.resume,
            },
        )
    elif options.waits is not None:
        raise UsageError(
            f"{board.name} has no wait states.",
            "Remove --flash-wait and --ram-wait, or choose a board rtl_*.",
        )
    toolchain, toolchain_reason = choose_toolchain(board, options.build.toolchain)
    emulator = emulator_reason = None
    runs_already = bool(options.port or options.run_config.ports)
    if options.emulator is not None and runs_already:
        raise UsageError("--port and --emulator exclude each other.", "Remove one of them.")
    if options.emulator is not None or (board.emulated and not runs_already):
        emulator, emulator_reason = choose_emulator(board, options.emulator)
    reasons = tuple(reason for reason in (toolchain_reason, emulator_reason) if reason is not None)
    return Tools(toolchain, emulator, reasons)


@contextmanager
def project_folder(keep: Path | None) -> Iterator[Path]:
    """Yield ``keep``, or if it is None a temporary folder that is deleted afterwards."""
    if keep is not None:
        yield keep
    else:
        with temporary_folder("arenite-") as temporary:
            yield Path(temporary) / "project"


@contextmanager
def open_device(
    project: Project, elf: Path, port: str | None, emulator: str | None = None
) -> Iterator[Transport]:
    """Start ``emulator`` (None: QEMU) with ``elf``, or flash the board on ``port``, and yield the transport to it."""
    if project.board.emulated:
        with start_emulator(project.board, elf, emulator or QEMU) as machine:
            yield machine.transport
        return
    assert port is not None
    from arenite.host.flash.flash import flash

    flashed = flash(project.directory, project.board, port)
    # After flashing, USB may give the port another name, so the name that ``flash`` returns is used.
    transport = SerialTransport(flashed.port or port, baud_of(project.protocol, project.board))
    try:
        yield transport
    finally:
        transport.close()


def _figures(
    prepared: Prepared,
    project: Project,
    measurement: DeviceMeasurement,
    sizes: ElfSizes,
    profiled: Profile | None,
    measured_cycles: MeasuredCycles | None,
) -> dict[str, Any]:
    board, prediction = project.board, project.prediction
    count = instructions_of(board, measurement.tick_hz)
    instructions, latency = durations(board, measurement.tick_hz, measurement.ticks)
    cycle_figure: dict[str, Any] | None = None
    layer_figures: Sequence[float] | None = None
    if measured_cycles is not None:
        cycle_figure, layer_figures = measured_cycles.figure(), measured_cycles.layers
    elif profiled is not None:
        cycle_figure = cycles.by_profile(profiled)
        layer_figures = profiled.layer_durations(lambda count: count.cycles)
    elif instructions is not None and not project.generated.parallel:
        cycle_figure = cycles.by_rule_of_thumb(board.core, instructions["p50"])
    stack = measurement.memory.stack_used if measurement.memory else prediction.stack
    return {
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
        "instructions": None if instructions is None else Percentiles(**instructions),
        "latency_us": None if latency is None else Percentiles(**latency),
        "cycles": cycle_figure,
        "init_instructions": max(map(count, measurement.init_ticks))
        if count and measurement.init_ticks
        else None,
        "memory": MemoryFigures(
            arena=sizes.arena,
            arena_regions=arena_regions(board, project.second, sizes.arena, sizes.arena_slow),
            arena_lower_bound=project.prepared.plan.lower_bound,
            arena_status=project.prepared.plan.status,
            stack=stack,
            # The monitor protocol does not report the stack.
            stack_kind="measured" if measurement.memory else "estimated",
            static=sizes.static,
            ram_total=sizes.arena + stack + sizes.static,
            predicted_arena=prediction.arena,
            predicted_arena_regions=project.arena_regions(),
            predicted_stack=prediction.stack,
            predicted_static=prediction.static,
            predicted_ram_total=prediction.ram_total,
        ),
        "flash": FlashFigures(
            weights=sizes.weights,
            code=sizes.code,
            total=sizes.weights + sizes.code,
            predicted_weights=prediction.weights,
            predicted_code=prediction.code,
            predicted_total=prediction.flash_total,
        ),
        "layers": layer_rows(project, measurement, count, layer_figures),
        "segments": describe_segments(
            project.generated.model.main, project.prepared.plan, project.prepared.needs
        ),
        "classes": cycles.histogram(profiled) if profiled is not None else None,
        "health": measurement.memory.health.to_json()
        if measurement.memory and measurement.memory.health
        else None,
    }
