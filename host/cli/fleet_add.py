"""``arenite fleet rollout add``: add a release to a fleet."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.cli.fleet_options import database_option, existing_database, user_name
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.registry import add_release, parse_release_images
from arenite.host.fleet.release_references import with_references
from arenite.host.report.console import note, show
from arenite.host.update.image_folder import find_image
from arenite.input_files import parse_json, read_text


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--images",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with the images of the release. Entries without 'reference' get the calibration record that the image"
    " of their model carries.",
)
@database_option
def add(file: Path, folder: Path | None, url: str) -> int:
    """Add the release that FILE describes (arenite.release/1)."""
    try:
        value = parse_json(read_text(file))
    except ValueError as error:
        raise UsageError(
            f"{file} is not JSON: {error}.", "docs/fleet.md describes the file of a release."
        ) from error
    release, images = parse_release_images(value, file)
    if folder is not None and not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "Give the folder with the images of the release.")
    database = existing_database(url)
    images, remarks = with_references(images, None if folder is None else partial(find_image, folder))
    for remark in remarks:
        note(remark)
    with database.transaction() as transaction:
        add_release(transaction, SystemClock().now_ms(), user_name(), release, images)
    show(f"release {release}: {count_of(sum(2 if image.firmware else 1 for image in images), 'image')}")
    return 0
