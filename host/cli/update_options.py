"""Options that the commands share which sign update images."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.cli.option_types import WholeNumber

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
