"""``arenite bench --board wasm`` and ``arenite fit --board wasm``: a model as a WebAssembly module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import click
from click.core import ParameterSource

from arenite.errors import UsageError
from arenite.firmware.boards.cores import WEBASSEMBLY_CORES
from arenite.host.bench.module_bench import WASM_BOARD, ModuleBench, bench_modules
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.webassembly.module import ModulePlan, plan_module
from arenite.host.cli.progress import steps_of
from arenite.host.interface.measurement import model_samples
from arenite.host.interface.model import load
from arenite.host.report.console import note, print_json, show, table

#: The options of bench and fit that apply to a module.
_BENCH_OPTIONS = {
    "image",
    "board",
    "data",
    "samples",
    "optimise",
    "no_passes",
    "stream_input",
    "stateful",
    "keep",
    "no_store",
    "as_json",
}
_FIT_OPTIONS = {"images", "names", "optimise", "no_passes", "stream_input", "as_json"}
#: The optimization goal of modules, if the user names none.
DEFAULT_GOAL = "balanced"


def refuse_options_of_boards(allowed: set[str]) -> None:
    """Raise ``UsageError`` for an option on the command line that only boards have."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in allowed and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next((o for o in parameter.opts if o.startswith("--")), name)
            raise UsageError(
                f"{option} is for boards; a WebAssembly module has no such option.", f"Leave out {option}."
            )


def bench_wasm(
    image: Path,
    data: Path | None,
    samples: int | None,
    build: BuildOptions,
    stateful: bool,
    keep: Path | None,
    as_json: bool,
) -> int:
    """Measure a model as a WebAssembly module, and show the figures. Return the exit code."""
    refuse_options_of_boards(_BENCH_OPTIONS)
    prepared = load(image, passes=build.passes).prepared
    with steps_of(WASM_BOARD) as steps:
        result = bench_modules(
            prepared,
            model_samples(prepared, data, samples),
            build.optimise or DEFAULT_GOAL,
            build.stream_input,
            stateful,
            keep,
            steps,
        )
    return report_result(result, as_json, lambda: _show_bench(result))


class BenchResult(Protocol):
    """The result of a bench of modules."""

    @property
    def prepared(self) -> Prepared: ...
    @property
    def bit_exact(self) -> bool: ...
    def as_json(self) -> dict[str, Any]: ...


def report_result(result: BenchResult, as_json: bool, show_tables: Callable[[], None]) -> int:
    """Print ``result`` as JSON, or the notes about its model and then its tables. Return the exit code."""
    if as_json:
        print_json(result.as_json())
    else:
        for text in result.prepared.notes:
            note(text)
        show_tables()
    return 0 if result.bit_exact else 1


def show_modules(
    title: str, figures: Sequence[Mapping[str, Any]], samples: int, rows: Sequence[tuple[str, ...]]
) -> None:
    """Show a table with a column for each module: its exactness for ``samples`` samples, then ``rows``, which begin
    with the name of a figure. ``figures`` are the modules' figures as JSON."""
    accuracy = figures[0]["accuracy"]
    first_rows = [
        ("bit-exact", *(f"{f['bit_exact']:,} of {samples:,}" for f in figures)),
        *([("accuracy", *(f"{f['accuracy']:.1%}" for f in figures))] if accuracy is not None else []),
    ]
    show(table(title, ("", *(f["core"] for f in figures)), [*first_rows, *rows]))


def _show_bench(result: ModuleBench) -> None:
    figures = [m.as_json() for m in result.modules]
    rows = [
        ("instructions, median", *(f"{f['instructions']['p50']:,}" for f in figures)),
        ("time in wasmtime, median, us", *(f"{f['time_us']['p50']:,.1f}" for f in figures)),
        ("time in wasmtime, shortest, us", *(f"{f['time_us']['min']:,.1f}" for f in figures)),
        ("module, bytes", *(f"{f['module_bytes']:,}" for f in figures)),
        ("memory, bytes", *(f"{f['memory']['total']:,}" for f in figures)),
        ("arena, bytes", *(f"{f['memory']['arena']:,}" for f in figures)),
        ("stack used, bytes", *(f"{f['memory']['stack_used']:,}" for f in figures)),
    ]
    title = f"{result.prepared.path.stem} as WebAssembly, {result.optimise} (all figures measured)"
    show_modules(title, figures, result.samples, rows)


def plan_wasm(image: Path, build: BuildOptions) -> list[ModulePlan]:
    """Return the plan of a model's module for each core. Nothing is built."""
    refuse_options_of_boards(_FIT_OPTIONS)
    prepared = load(image, passes=build.passes).prepared
    goal = build.optimise or DEFAULT_GOAL
    return [
        plan_module({"model": prepared}, core, goal, build.stream_input)
        for core in reversed(WEBASSEMBLY_CORES)  # the core with SIMD first
    ]


def fit_wasm(images: Sequence[Path], names: Sequence[str], build: BuildOptions, as_json: bool) -> int:
    """Show the memory of models as WebAssembly modules. Return the exit code."""
    if set(names) != {WASM_BOARD}:
        raise UsageError(
            f"{WASM_BOARD} cannot be combined with boards.", f"Run `arenite fit --board {WASM_BOARD}` alone."
        )
    plans = {str(image): plan_wasm(image, build) for image in images}
    if as_json:
        models = [
            {
                "path": path,
                "modules": [
                    {
                        "core": p.core,
                        "optimise": p.optimise,
                        "memory_bytes": p.memory.nbytes,
                        "pages": p.memory.pages,
                        "arena": p.memory.arena,
                        "constants_at_most": p.memory.constants,
                        "buffers": p.memory.buffers,
                        "stack": p.memory.stack,
                    }
                    for p in module_plans
                ],
            }
            for path, module_plans in plans.items()
        ]
        print_json({"schema": "arenite.fit-wasm/1", "board": WASM_BOARD, "models": models})
        return 0
    for path, module_plans in plans.items():
        rows = [
            (p.core, f"{p.memory.nbytes:,}", f"{p.memory.arena:,}", f"{p.memory.constants:,}")
            for p in module_plans
        ]
        title = f"{Path(path).stem} as WebAssembly: bytes of memory, which never grows"
        show(table(title, ("core", "memory", "arena", "constants, at most"), rows))
    return 0
