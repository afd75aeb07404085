"""``arenite firmware``: generate the C project of a model."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.counts import count_of
from arenite.firmware.platformio.frameworks import build_commands
from arenite.host.bench.two_cores import predicted_split
from arenite.host.build.options import BuildOptions
from arenite.host.cli.bench.two_cores import two_cores_line
from arenite.host.cli.options import FIRMWARE_FIELDS, build_options, output_folder_option
from arenite.host.interface.build import firmware as generate
from arenite.host.report.console import note, print_json, show
from arenite.profiles.boards import Board, load_board


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--board", required=True, metavar="NAME", help="Name of a board; `arenite boards` lists the names."
)
@output_folder_option("the project")
@build_options(*FIRMWARE_FIELDS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def firmware(
    image: Path,
    board: str,
    output: Path,
    build: BuildOptions,
    as_json: bool,
) -> int:
    """Generate C firmware that runs IMAGE on a board, as a PlatformIO project.

    IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote.

    If the model does not fit the board, the exit code is 1 and nothing is written.
    """
    result = generate(image, board, output, build=build)
    project = result.project
    predicted = project.prediction
    if as_json:
        print_json(result.to_json())
    else:
        for text in project.prepared.notes:
            note(text)
        show(
            f"{output}: {count_of(len(project.generated.calls), 'layer')} for {board}, --optimise {project.optimise}; "
            f"predicted RAM {predicted.ram_total:,} B, flash {predicted.flash_total:,} B",
            *project.notes,
            *two_cores_line(predicted_split(project)),
            *_next(load_board(board), output),
        )
    return 0


def _next(board: Board, output: Path) -> list[str]:
    """Return lines with the command that builds the project in ``output``, and with alternative commands of the board's
    frameworks."""
    commands = build_commands(board, str(output))
    if board.emulated or board.platformio is not None:
        commands[0] = f"arenite build {output}"
    return [f"{'Next' if number == 0 else '  or'}: {command}" for number, command in enumerate(commands)]
