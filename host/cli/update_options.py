"""Options that the commands share which sign update images."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.cli.option_types import WholeNumber
from arenite.host.update.calibration_record import CalibrationRecord

private_key_option = click.option(
    "--key", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Private key."
)
counter_option = click.option(
    "--counter",
    type=WholeNumber(),
    default=0,
    show_default=True,
    help="Security counter. A device refuses images with a lower one than that of a confirmed image.",
)
allow_test_key_option = click.option(
    "--allow-test-key",
    is_flag=True,
    help="Sign with the test key of `arenite update keygen --test`, which everybody has.",
)
reference_option = click.option(
    "--reference",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of `arenite fleet reference`: the image of the model carries it, so that releases of a fleet need no"
    " file of their own (docs/fleet.md).",
)


def read_reference_option(reference: Path | None) -> CalibrationRecord | None:
    """Return the value of ``reference_option``. Raises ``UsageError`` for a malformed file."""
    if reference is None:
        return None
    from arenite.host.fleet.reference_file import read_record

    return read_record(reference)
