"""``arenite convert``: a model in, an image with a planned arena out."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.converters.atomic import write_atomic
from arenite.converters.errors import UsageError
from arenite.host.cli.options import no_passes_option
from arenite.host.cli.output import note, print_json, show
from arenite.host.prepare import prepare
from arenite.profiles.boards import load_board


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Default: SOURCE with .image.tflite.")
@click.option("--board", help="Also tell whether the image fits this board; exit code 1 when it does not.")
@no_passes_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def convert(source: Path, output: Path | None, board: str | None, no_passes: bool, as_json: bool) -> int:
    """Plan SOURCE (a quantised .tflite) and write it as an image.

    The image is the same flatbuffer, less what no output needs, with its operators in execution order and its arena
    plan in the metadata; stock LiteRT and TensorFlow Lite Micro load it and give the same numbers.
    """
    target = output or source.with_name(source.name.removesuffix(".tflite") + ".image.tflite")
    if target.resolve() == source.resolve():
        raise UsageError(f"{target} is the source itself.", "Give another file with -o.")
    chosen = load_board(board) if board else None
    prepared = prepare(source, passes=not no_passes)
    write_atomic(target, prepared.image)
    verdict = None
    if chosen is not None:
        from arenite.host.fit import verdicts

        verdict = verdicts(prepared, [chosen], None)[0]
    p = prepared.plan
    if as_json:
        print_json(
            {
                "schema": "arenite.convert/1",
                "source": {"path": str(source), "sha256": prepared.sha256},
                "image": {"path": str(target), "bytes": len(prepared.image)},
                "arena": {"bytes": p.arena_bytes, "lower_bound": p.lower_bound, "status": p.status},
                "notes": list(prepared.notes),
                "passes": [r.to_json() for r in prepared.passes],
                "fit": None if verdict is None else verdict.to_json(),
            }
        )
    else:
        for text in prepared.notes:
            note(text)
        show(
            f"{target}: {len(prepared.image):,} B, arena {p.arena_bytes:,} B ({p.status}, bound {p.lower_bound:,} B)"
        )
        if verdict is not None:
            show(f"{verdict.board.name}: " + ("fits" if verdict.fits else "; ".join(verdict.reasons)))
    return 0 if verdict is None or verdict.fits else 1
