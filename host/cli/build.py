"""``arenite build``: compile a generated project."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.bench.elf import read_elf
from arenite.host.cli.output import print_json, show
from arenite.host.flash.build import build as build_project
from arenite.host.flash.build import read_manifest


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def build(directory: Path, as_json: bool) -> int:
    """Build the project in DIRECTORY with PlatformIO, and compare its ELF with what was predicted."""
    elf = build_project(directory)
    sizes = read_elf(elf)
    predicted = read_manifest(directory).get("predicted", {})
    rows = {
        "weights": (predicted.get("weights"), sizes.weights),
        "code": (predicted.get("code"), sizes.code),
        "arena": (predicted.get("arena"), sizes.arena),
        "static": (predicted.get("static"), sizes.static),
    }
    if as_json:
        print_json(
            {
                "schema": "arenite.build/1",
                "elf": str(elf),
                "sizes": {k: {"predicted": p, "built": b} for k, (p, b) in rows.items()},
            }
        )
    else:
        show(str(elf))
        for name, (wanted, got) in rows.items():
            verdict = (
                "as predicted" if wanted == got else f"predicted {wanted:,} B" if wanted is not None else ""
            )
            show(f"  {name:8s} {got:>9,} B  {verdict}")
    return 0
