"""``arenite build``: compile a generated project."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.app.updates import sign_app
from arenite.host.bench.size_check import check_sizes
from arenite.host.cli.firmware.app_updates import show_images
from arenite.host.cli.firmware.fit import show_size_check
from arenite.host.flash.build import build as build_project
from arenite.host.report.console import note, print_json, show


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def build(directory: Path, as_json: bool) -> int:
    """Build a project or an application, and compare the sizes in the ELF file with the predicted sizes.

    DIRECTORY is the folder that `arenite firmware` or `arenite app` wrote. PlatformIO builds it, or the compiler alone
    for an emulated board. For a Raspberry Pi Pico, Zephyr or a project of ESP-IDF, the command names the framework's
    own commands. The images of an application with updates are signed (docs/app-updates.md).
    """
    elf = build_project(directory, on_start=note)
    images = sign_app(directory, elf)
    check = check_sizes(directory)
    if as_json:
        sizes = {
            f.name: {"predicted": f.predicted, "built": f.built} for f in check.figures if f.built is not None
        }
        result = {"schema": "arenite.build/1", "elf": str(elf), "sizes": sizes}
        print_json(result if images is None else {**result, "images": images.to_json()})
    else:
        show(str(elf))
        show_size_check(str(directory), check)
        if images is not None:
            show_images(images)
    return 0
