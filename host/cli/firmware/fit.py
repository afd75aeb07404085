"""``arenite fit``: predict RAM and flash of a model, and check which boards it fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.generator.output_folder import MANIFEST
from arenite.host.bench.module_bench import WASM_BOARD
from arenite.host.bench.size_check import SizeCheck, check_sizes
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.cli.bench.webassembly import fit_wasm
from arenite.host.cli.firmware.fit_app import show_app_fits
from arenite.host.cli.firmware.fit_language_model import (
    LanguageModelOptions,
    fit_language_models,
    is_language_model,
    language_model_options,
)
from arenite.host.cli.options import build_options
from arenite.host.cli.progress import Stages
from arenite.host.interface.build import fit_boards
from arenite.host.llm.zoo_models import is_zoo_language_model
from arenite.host.report.console import note, print_json, show, table


@click.command()
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--board",
    "names",
    multiple=True,
    metavar="NAME",
    help=(
        "Board to check; `arenite boards` lists the names. May be given several times. wasm: show the memory "
        "of a WebAssembly module. Default: all known boards."
    ),
)
@click.option(
    "--all",
    "all_boards",
    is_flag=True,
    help=(
        "Check all known boards, or all hosts for a language model. This is the default. Cannot be combined with "
        "--board and --host."
    ),
)
@build_options("optimise", "passes", "stream_input", "fast_ram", "toolchain", "code_in_ram")
@click.option(
    "--shrink",
    is_flag=True,
    help=(
        "Also search for changes with which the model would fit the boards given with --board: other "
        "quantization recipes (see `arenite convert`), and smaller variants of a model from Arenite's zoo. "
        "Needs --board."
    ),
)
@click.option(
    "--agent",
    is_flag=True,
    help="Also show what the agent of a fleet adds with `arenite update build --agent`.",
)
@click.option(
    "--app",
    "application",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE.toml",
    help=(
        "Predict an application: the folder that `arenite app` wrote, or a TOML file with its settings board, sensor, "
        "optimise and hop."
    ),
)
@click.option(
    "--cascade",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --app: the large model of a cascade, as in `arenite app --cascade`.",
)
@language_model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def fit(
    images: tuple[Path, ...],
    names: tuple[str, ...],
    all_boards: bool,
    shrink: bool,
    agent: bool,
    build: BuildOptions,
    application: Path | None,
    cascade: Path | None,
    language_model: LanguageModelOptions,
    as_json: bool,
) -> int:
    """Predict whether IMAGES fit the flash and SRAM (arena, stack, static data) of boards, and estimate the time of an
    inference, without a build.

    IMAGES are quantized .tflite files, such as those that `arenite convert` writes.

    If IMAGES is the folder of a built project, compare its predicted sizes with the ELF file. If `bench --keep` ran
    the project, also compare the predicted stack with the stack use measured on the board, and check that nothing
    wrote outside the arena.

    If IMAGES is a language model (a .gguf or .litertlm file, a folder for ONNX Runtime GenAI, the config.json of a
    model on Hugging Face, or a name such as smollm2_135m of the zoo), predict its memory, its tokens per second and its
    energy on computers such as the Jetson and the Raspberry Pi.

    The exit code is 1 if a model does not fit a board named with --board or a host named with --host, or if the sizes
    of a built project differ from its predictions.
    """
    if any(is_language_model(path) or is_zoo_language_model(path) for path in images):
        if names or application or agent or shrink:
            raise UsageError(
                "--board, --app, --agent and --shrink are for models of microcontrollers, not for language models.",
                "Name computers with --host.",
            )
        return fit_language_models(images, language_model, all_boards, as_json)
    language_model.check_unused()
    if agent and (application is not None or WASM_BOARD in names or any(path.is_dir() for path in images)):
        raise UsageError(
            "--agent predicts the program that `arenite update build` makes of a model.",
            "Give the file of a model, and a board such as --board qemu_mps2_an386.",
        )
    if application is not None:
        return show_app_fits(images, application, names, cascade, as_json)
    if cascade is not None:
        raise UsageError("--cascade needs --app.", "Add --app DIR|FILE.toml.")
    if any((path / MANIFEST).is_file() for path in images):
        return _compare(images, as_json)
    if WASM_BOARD in names:
        return fit_wasm(images, names, build, as_json)
    if names and all_boards:
        raise UsageError("--board and --all exclude each other.", "Give one of them.")
    if shrink and not names:
        raise UsageError("--shrink needs the boards that the model should fit.", "Add --board NAME.")
    if shrink and build.toolchain not in (None, GCC):
        raise UsageError(
            f"--shrink does not know the sizes of code that {build.toolchain} compiles.",
            "Leave out --toolchain.",
        )
    with Stages() as stages:
        if shrink:
            stages("search for models that fit", 0, 0)
        fits = [
            fit_boards(image, list(names) or None, build=build, suggest=shrink, agent=agent)
            for image in images
        ]
    if as_json:
        reports = [report.to_json() for report in fits]
        print_json(reports[0] if len(reports) == 1 else {"schema": "arenite.fit/1", "models": reports})
    else:
        for report in fits:
            for text in report.prepared.notes:
                note(text)
            show_fits(report.prepared, report.verdicts)
            for name, cost in report.agents.items():
                show(
                    f"{name}: the agent of a fleet adds {cost.ram:,} bytes of RAM and ~{cost.flash:,} bytes of flash"
                    " to a program with updates"
                )
            show(*(report.shrink.sentences() if report.shrink else ()))
    return 1 if names and not all(report.fits for report in fits) else 0


def _compare(folders: tuple[Path, ...], as_json: bool) -> int:
    """Show the predicted, built and measured sizes of built projects. Return the exit code: 1 if a size contradicts its
    prediction, else 0."""
    checks = [check_sizes(folder) for folder in folders]
    if as_json:
        reports = [e.to_json() for e in checks]
        print_json(reports[0] if len(reports) == 1 else {"schema": "arenite.fit/1", "projects": reports})
    else:
        for folder, check in zip(folders, checks, strict=True):
            show_size_check(str(folder), check)
    return 0 if all(e.holds for e in checks) else 1


def show_size_check(title: str, check: SizeCheck) -> None:
    """Show the sizes of a project as a table with one row per figure."""

    def bytes_(value: int | None) -> str:
        return "-" if value is None else f"{value:,}"

    rows = [
        (
            f.name,
            bytes_(f.predicted),
            bytes_(f.built),
            bytes_(f.measured),
            "-"
            if f.predicted is None or (f.built, f.measured) == (None, None)
            else "yes"
            if f.holds
            else "NO",
        )
        for f in check.figures
        if (f.predicted, f.built, f.measured) != (None, None, None)
    ]
    show(table(f"{title} on {check.board}: bytes", ("", "predicted", "built", "measured", "holds"), rows))
    if all(f.predicted is None for f in check.figures):  # an application, which no bench runs
        return
    guards = {None: "never run with `arenite bench --keep`", 0: "intact"}
    show(f"arena guard words: {guards.get(check.guards_damaged, f'{check.guards_damaged} overwritten')}")


def show_fits(prepared: Prepared, verdicts: Sequence[FitVerdict]) -> None:
    """Show the verdicts as a table. Boards that the model fits come first, sorted by speed."""
    rows = []
    for v in sorted(verdicts, key=lambda v: (not v.fits, v.latency_ms)):
        sign = "" if v.needs.exact else "~"
        rows.append(
            (
                v.board.name,
                "yes" if v.fits else "NO",
                f"{sign}{v.needs.ram:,}",
                f"{v.board.ram_bytes:,}",
                f"{sign}{v.needs.flash:,}",
                f"{v.board.flash_bytes:,}",
                v.needs.optimise,
                f"~{v.latency_ms:,.1f}",
                f"~{v.energy_mj:,.3f}" + ("" if v.energy_kind == "estimated" else "?"),
            )
        )
    columns = ("board", "fits", "RAM B", "of", "flash B", "of", "optimise", "ms", "mJ")
    show(table(prepared.path.name, columns, rows))
    for v in verdicts:
        for reason in (*v.reasons, *v.notes):
            show(f"{v.board.name}: {reason}")
    if other := sorted({v.needs.toolchain for v in verdicts} - {GCC}):
        show(
            f"Sizes were measured with {', '.join(other)}. Time and energy are estimated from code that gcc compiled."
        )
    show(
        "The sign ~ marks an estimate: real boards add their framework's start-up code, and time and energy are always "
        "estimates. The sign ? marks an assumption: 100 µA/MHz at 3.3 V, for a profile without a current."
    )
