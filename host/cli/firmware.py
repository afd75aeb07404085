"""``arenite firmware``: generate the C project of a model."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.cli.options import no_passes_option, optimise_option, protocol_option, stream_option
from arenite.host.cli.output import note, print_json, show
from arenite.host.prepare import prepare
from arenite.host.project import generate_project
from arenite.profiles.boards import load_board


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--board", required=True, help="A board of `arenite boards`.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the project.")
@optimise_option
@protocol_option
@no_passes_option
@stream_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def firmware(
    image: Path,
    board: str,
    output: Path,
    optimise: str | None,
    protocol: str,
    no_passes: bool,
    stream_input: bool,
    as_json: bool,
) -> int:
    """Generate the C firmware that serves IMAGE on a board, as a PlatformIO project.

    Exit code 1, and nothing written, when the model does not fit the board.
    """
    prepared = prepare(image, passes=not no_passes)
    project = generate_project(
        prepared,
        load_board(board),
        output,
        optimise=optimise,
        protocol=protocol,
        stream_input=stream_input,
    )
    p = project.prediction
    if as_json:
        print_json(
            {
                "schema": "arenite.firmware/1",
                "directory": str(output),
                "board": board,
                "optimise": project.optimise,
                "layers": len(project.generated.calls),
                "predicted": {
                    "arena": p.arena,
                    "static": p.static,
                    "stack": p.stack,
                    "ram_total": p.ram_total,
                    "weights": p.weights,
                    "code": p.code,
                    "flash_total": p.flash_total,
                },
                "passes": [r.to_json() for r in prepared.passes],
            }
        )
    else:
        for text in prepared.notes:
            note(text)
        show(
            f"{output}: {len(project.generated.calls)} layers for {board}, --optimise {project.optimise}; "
            f"predicted RAM {p.ram_total:,} B, flash {p.flash_total:,} B",
            f"Next: arenite build {output}",
        )
    return 0
