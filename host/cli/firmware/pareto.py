"""``arenite pareto``: show all builds of a model for a board, and their Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.bench.pareto_measured import measure_build
from arenite.host.build.pareto import Build, builds, describe
from arenite.host.cli.progress import Steps
from arenite.host.report.bench_page import pareto_page
from arenite.host.report.console import note, print_json, show, table
from arenite.host.report.pareto_svg import pareto_svg
from arenite.profiles.boards import Board, load_board


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--board", required=True, metavar="NAME", help="Name of a board; `arenite boards` lists the names."
)
@click.option(
    "--measure",
    is_flag=True,
    help=(
        "Build and run each variant that fits, and show measured figures instead of estimates. Only for "
        "emulated boards."
    ),
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help="With --measure: number of inputs to run per variant. Default: 3.",
)
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a plot of the variants to this SVG file.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML page with the table and the plot.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def pareto(
    image: Path,
    board: str,
    measure: bool,
    samples: int | None,
    svg: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Show the RAM, the flash and the number of executed instructions of every variant in which IMAGE can be built for
    a board, and which variants are on the Pareto front.

    IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote.

    The variants are all combinations of three options of `arenite bench`: --optimise, --no-passes and --stream-input. A
    variant is on the Pareto front unless another variant is better in at least one figure and not worse in any.

    The exit code is 1 if no variant fits the board, or a measured output differs from that of LiteRT's reference
    kernels.
    """
    if samples is not None and not measure:
        raise UsageError("--samples has no effect without --measure.", "Add --measure, or remove --samples.")
    profile = load_board(board)
    with Steps(profile.name) as steps:
        all_builds = builds(
            image,
            profile,
            measure=measure_build(samples or 3) if measure else None,
            progress=lambda _, done, total: steps("builds", done, total),
        )
    described = describe(image, profile, all_builds)
    if as_json:
        print_json(described)
    else:
        show_builds(image.name, profile, all_builds)
    if svg is not None or html is not None:
        picture = pareto_svg(described["builds"], described["limits"])
        for path, text in ((svg, picture + "\n"), (html, pareto_page(described, picture))):
            if path is not None:
                write_atomic(path, text)
                note(f"Written: {path}")
    return 0 if any(b.fits for b in all_builds) and all(b.bit_exact is not False for b in all_builds) else 1


def show_builds(title: str, board: Board, all_builds: Sequence[Build]) -> None:
    """Show the builds as a table, sorted by the number of instructions."""
    rows = []
    for build in sorted(all_builds, key=lambda b: b.instructions):
        sign = "~" if build.kind == "estimated" else ""
        rows.append(
            (
                build.label,
                "yes" if build.fits else "NO",
                f"{build.ram:,}",
                f"{build.flash:,}",
                f"{sign}{build.instructions:,}",
                {None: "-", True: "yes", False: "NO"}[build.bit_exact],
                build.dominated_by or "",
            )
        )
    columns = ("build", "fits", "RAM B", "flash B", "instructions", "bit-exact", "dominated by")
    show(table(f"{title} on {board.name}", columns, rows))
    if any(b.kind == "estimated" for b in all_builds):
        show("The sign ~ marks an estimate before the build; --measure runs each build on an emulated board.")
