"""``arenite library``: models as C sources for a program of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.boards.cores import OPTIMISE_MODES, core_names
from arenite.firmware.generator.target import SCALAR, Target
from arenite.host.build.library import generate_library, identifier, named_image
from arenite.host.build.prepare import prepare
from arenite.host.cli.options import no_passes_option, stream_option
from arenite.host.report.console import note, print_json, show, table
from arenite.profiles.boards import load_board


@click.command()
@click.argument("images", nargs=-1, required=True, metavar="[NAME=]IMAGE...")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the library.")
@click.option("--name", help="Name of the library; default: that of the folder.")
@click.option("--board", help="A board of `arenite boards`: kernels for its core.")
@click.option(
    "--core",
    type=click.Choice(core_names()),
    help="Kernels for a core; default: plain C for any 32-bit core.",
)
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    default="balanced",
    show_default=True,
    help="What to favour.",
)
@no_passes_option
@stream_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
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
    """Write IMAGES as plain C sources without any board's code: models with names of their own that share one arena,
    the kernels they call, and the files by which CMake, ESP-IDF, Zephyr, PlatformIO and Arduino know a library.

    NAME becomes the prefix of everything of a model; without it the file's name does.

    Exit code 1, and nothing written, when the arena or the weights alone are too large for --board.
    """
    if board and core:
        raise UsageError("--board and --core exclude each other.", "Give one of them.")
    chosen = load_board(board) if board else None
    core_name = chosen.core if chosen else core
    target = (
        Target.of(core_name, optimise, stream_input)
        if core_name
        else Target("", SCALAR, optimise, stream_input)
    )
    models = {}
    for text in images:
        model, path = named_image(text)
        if model in models:
            raise UsageError(f"Two models are called '{model}'.", "Name them: NAME=IMAGE.")
        models[model] = prepare(path, passes=not no_passes)
    called = identifier(name if name is not None else output.resolve().name)

    def accept(described: dict) -> None:
        weights = sum(m["weights"] for m in described["models"])
        for what, needed, there in (
            ("RAM", described["arena"], chosen.ram_bytes if chosen else None),
            ("flash", weights, chosen.flash_bytes if chosen else None),
        ):
            if there is not None and needed > there:
                raise DoesNotFitError(
                    f"The models alone need {needed - there:,} B more {what} than {board} has.",
                    "Try --optimise ram, fewer models, or a larger board.",
                )

    described = generate_library(output, called, models, target, accept)
    if as_json:
        print_json({**described, "directory": str(output)})
        return 0
    for prepared in models.values():
        for text in prepared.notes:
            note(text)
    rows = [
        (m["name"], m["header"], f"{m['weights']:,}", f"{m['arena']:,}", "yes" if m["shares_arena"] else "no")
        for m in described["models"]
    ]
    show(table(f"{output}", ("model", "header", "weights B", "arena B", "shares it"), rows))
    show(f"Arena in all: {described['arena']:,} B. Next: {output / 'README.md'}")
    return 0
