"""``arenite bench``: measure a model on a board."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.sizes.targets import boards_of
from arenite.host.bench.compare import compare as compare_result
from arenite.host.bench.compare import read_baseline, require_record
from arenite.host.bench.module_bench import WASM_BOARD
from arenite.host.bench.store.record import store_result
from arenite.host.bench.store.run_rows import BuildMode
from arenite.host.build.fit import choose, verdicts
from arenite.host.build.options import BuildOptions
from arenite.host.build.pareto import builds, describe
from arenite.host.cli.bench.browser import bench_browser
from arenite.host.cli.bench.subcommands import CommandWithSubcommands, store_option
from arenite.host.cli.bench.tables import show_bench
from arenite.host.cli.bench.webassembly import bench_wasm
from arenite.host.cli.option_types import Number
from arenite.host.cli.options import FIRMWARE_FIELDS, build_options
from arenite.host.cli.progress import steps_of
from arenite.host.emulator.emulator_choice import EMULATORS
from arenite.host.interface.measurement import bench as run_bench
from arenite.host.interface.model import load
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.bench_page import bench_page
from arenite.host.report.console import note, print_json
from arenite.host.report.pareto_svg import pareto_svg
from arenite.host.web.browser_bench.browsers import BROWSERS
from arenite.host.web.browser_bench.peers import PEERS
from arenite.profiles.boards import load_board


@click.command(cls=CommandWithSubcommands)
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--board",
    required=True,
    metavar="NAME",
    help=(
        "Name of a board; `arenite boards` lists the names. Boards called qemu_* are emulated, and boards called "
        "rtl_* are simulated from the RTL of their core, which measures cycles. wasm: run the model as a "
        "WebAssembly module. chromium, firefox or webkit: run the module in this browser."
    ),
)
@click.option(
    "--port",
    "ports",
    multiple=True,
    metavar="PORT",
    help=(
        "Serial port of a real board: a path such as /dev/ttyACM0, auto to find it by its USB id, or "
        "usb:SERIAL for the USB device with this serial number. Required for a real board. Repeat the option "
        "to share the samples between several boards of this type."
    ),
)
@click.option(
    "--copies",
    type=click.IntRange(min=1, max=256),
    default=1,
    show_default=True,
    help="Number of emulators that share the samples (emulated boards only).",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help=(
        "Samples: an .npz file with the arrays x (inputs; x0, x1, ... for a model with several inputs) and y "
        "(labels), or a folder of pictures or WAV files. Default: random inputs."
    ),
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help=(
        "Number of samples to run. Default: all samples of --data; without --data 10 random inputs, or 1 on a "
        "board rtl_*."
    ),
)
@build_options(*FIRMWARE_FIELDS)
@click.option(
    "--emulator",
    type=click.Choice(EMULATORS),
    help=(
        "Emulator of an emulated board: qemu, or unicorn (the Python package). Default: qemu if it is installed, "
        "otherwise unicorn."
    ),
)
@click.option(
    "--flash-wait",
    type=click.IntRange(0, 3),
    help="Wait states of the flash, in cycles per access (only with a board rtl_*). Default: 0.",
)
@click.option(
    "--ram-wait",
    type=click.IntRange(0, 3),
    help="Wait states of the RAM, in cycles per access (only with a board rtl_*). Default: 0.",
)
@click.option(
    "--resume/--no-resume",
    default=None,
    help=(
        "Continue an earlier run that was interrupted, or start again. Default: --resume with 50 or more "
        "samples, else --no-resume."
    ),
)
@click.option(
    "--wait",
    type=Number(min=0),
    default=0.0,
    metavar="SECONDS",
    help=(
        "If the board disconnects, wait up to this number of seconds for it to return, then continue. "
        "Default: 0, which ends the run."
    ),
)
@click.option(
    "--stateful",
    is_flag=True,
    help=(
        "Keep the values of the model's state variables from one sample to the next. Default: reset them "
        "before each sample."
    ),
)
@click.option(
    "--cycles/--no-cycles",
    default=None,
    help=(
        "Estimate the number of cycles: run one more inference and count its instructions by class (emulated "
        "boards only). Default: --cycles if that is possible."
    ),
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=click.Choice(tuple(PEERS)),
    help=(
        "Measure another runtime in the same page, in turns and with one thread (only with a browser as --board). "
        "Its files are downloaded from npm to the cache. Repeat the option for several runtimes."
    ),
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, dir_okay=False),
    help=(
        "Compare the figures with this JSON file: the records of another engine (docs/bench.md), or an "
        "earlier output of --json."
    ),
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the generated and built project in this folder. Default: delete it.",
)
@store_option
@click.option(
    "--no-store", is_flag=True, help="Do not store the result. `arenite bench history` then does not show it."
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a report to this HTML file."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def bench(
    image: Path,
    board: str,
    ports: tuple[str, ...],
    copies: int,
    data: Path | None,
    samples: int | None,
    resume: bool | None,
    wait: float,
    stateful: bool,
    cycles: bool | None,
    emulator: str | None,
    flash_wait: int | None,
    ram_wait: int | None,
    peers: tuple[str, ...],
    compare: Path | None,
    keep: Path | None,
    store: Path | None,
    no_store: bool,
    html: Path | None,
    build: BuildOptions,
    as_json: bool,
) -> int:
    """Generate and build firmware for IMAGE, run it on a board with samples, and compare every
    output byte with LiteRT's reference kernels.

    IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote.

    The exit code is 1 if an output differs from that of LiteRT's reference kernels, or the board returns no output for
    a sample.
    """
    if board == WASM_BOARD:
        return bench_wasm(image, data, samples, build, stateful, keep, as_json)
    if board in BROWSERS:
        return bench_browser(board, image, data, samples, build, stateful, peers, as_json)
    if peers:
        raise UsageError(
            "--peer is for a bench in a browser.",
            f"Leave out --peer, or give --board {' or '.join(BROWSERS)}.",
        )
    if store is not None and no_store:
        raise UsageError("--store and --no-store exclude each other.", "Remove one of them.")
    baseline = read_baseline(compare) if compare is not None else None
    model = load(image, passes=build.passes)
    prepared, profile = model.prepared, load_board(board)
    if baseline is not None and compare is not None:
        require_record(baseline, profile.core, prepared.path.stem, compare)
    with steps_of(profile.name) as steps:
        result = run_bench(
            model,
            board,
            data,
            samples=samples,
            build=build,
            port=ports,
            copies=copies,
            stateful=stateful,
            cycles=cycles,
            resume=resume,
            wait_s=wait,
            keep=keep,
            emulator=emulator,
            flash_wait=flash_wait,
            ram_wait=ram_wait,
            report=note,
            progress=steps,
        ).to_json()
    if baseline is not None:
        result["compare"] = compare_result(result, baseline)
    toolchain = result["build"]["toolchain"]
    build = replace(build, toolchain=None if toolchain == GCC else toolchain)
    mode = BuildMode(**vars(build), stateful=stateful)
    data_name = str(data) if data is not None else "random"
    result["run"] = None if no_store else store_result(result, mode, data_name, image, store, note)
    if as_json:
        print_json(result)
    else:
        for text in prepared.notes:
            note(text)
        show_bench(result)
    # The page is written after the figures are printed, so that an error while writing does not lose them.
    if html is not None:
        fitting_build = choose(prepared, profile, replace(build, optimise=result["optimise"])).prepared
        drawing = arena_svg(fitting_build.model.main, fitting_build.plan, fitting_build.needs)
        fits = [
            v.to_json()
            for v in verdicts(
                prepared,
                boards_of(toolchain),
                BuildOptions(build.optimise, stream_input=build.stream_input, toolchain=toolchain),
            )
        ]
        described = describe(image, profile, builds(image, profile, toolchain=toolchain))
        picture = pareto_svg(described["builds"], described["limits"])
        page = bench_page(result, fits, drawing, prepared.notes, described["builds"], picture)
        write_atomic(html, page)
        note(f"Report: {html}")
    return 0 if result["samples"]["bit_exact"] == result["samples"]["count"] else 1
