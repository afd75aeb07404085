"""``arenite library``: write models as C sources for the user's own program."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.firmware.boards.cores import OPTIMISE_MODES, core_names
from arenite.host.cli.firmware.named_models import load_named
from arenite.host.cli.options import no_passes_option, output_folder_option, stream_option
from arenite.host.interface.build import library as write_library
from arenite.host.report.console import note, print_json, show, table


@click.command()
@click.argument("images", nargs=-1, required=True, metavar="[NAME=]IMAGE...")
@output_folder_option("the library")
@click.option("--name", metavar="NAME", help="Name of the library. Default: the name of the folder.")
@click.option(
    "--board",
    metavar="NAME",
    help=(
        "Generate kernels for the core of this board (`arenite boards` lists the names), and check that the "
        "arena and the weights fit its memory. Cannot be combined with --core."
    ),
)
@click.option(
    "--core",
    type=click.Choice(core_names()),
    help="Generate kernels for this core. Default: the core of --board, else plain C for any 32-bit core.",
)
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    default="balanced",
    show_default=True,
    help=(
        "What to optimize the library for (docs/firmware.md). balanced: the fastest kernels that store "
        "nothing more than the weights and biases."
    ),
)
@no_passes_option
@stream_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def library(
    images: tuple[str, ...],
    output: Path,
    name: str | None,
    board: str | None,
    core: str | None,
    optimise: str,
    no_passes: bool,
    stream_input: bool,
    as_json: bool,
) -> int:
    """Write a C library that runs models and contains no board-specific code.

    The library contains the models, the kernels that they call, and the build files for CMake, ESP-IDF, Zephyr,
    PlatformIO and Arduino. The models share one arena.

    An IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote. NAME becomes the prefix of all C
    names of the model. Default: the name of the file.

    If the arena or the weights alone are too large for --board, the exit code is 1 and nothing is written.
    """
    prepared = load_named(images, passes=not no_passes)
    result = write_library(
        prepared, output, name=name, board=board, core=core, optimise=optimise, stream_input=stream_input
    )
    if as_json:
        print_json(result.to_json())
        return 0
    for loaded in prepared.values():
        for text in loaded.notes:
            note(text)
    manifest = result.manifest
    rows = [
        (m["name"], m["header"], f"{m['weights']:,}", f"{m['arena']:,}", "yes" if m["shares_arena"] else "no")
        for m in manifest["models"]
    ]
    show(table(f"{output}", ("model", "header", "weights B", "arena B", "shares arena"), rows))
    show(f"Total arena: {manifest['arena']:,} B. Next: {output / 'README.md'}")
    return 0
