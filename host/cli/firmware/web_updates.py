"""The options of ``arenite web`` for pages that take newer versions of their model from a signed repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arenite.errors import UsageError
from arenite.host.cli.option_types import Number, option_group
from arenite.host.web.updates.page_updates import RANGES, PageUpdates

_FIELDS = {
    "check_every": "check_every_s",
    "shadow": "shadow_inputs",
    "probation": "probation_inputs",
    "min_agreement": "min_agreement",
    "max_latency": "max_latency_ms",
}


def _number(name: str, *, whole: bool = False) -> click.ParamType[Any]:
    low, high = RANGES[_FIELDS[name]]
    return click.IntRange(int(low), int(high)) if whole else Number(low, high)


update_options = option_group(
    click.option(
        "--updates",
        metavar="URL",
        help=(
            "With --page: the page takes newer versions of its model from this signed repository "
            "(docs/web-updates.md), at an address with https:// or http://, or relative to the page, such as ../models."
            " Needs --trusted-root."
        ),
    ),
    click.option(
        "--trusted-root",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Root metadata of the repository, root.json. It is written into the page.",
    ),
    click.option(
        "--check-every",
        type=_number("check_every"),
        metavar="SECONDS",
        help="Time between two checks of the repository. Default: 3600.",
    ),
    click.option(
        "--shadow",
        type=_number("shadow", whole=True),
        metavar="INPUTS",
        help=(
            "Number of pictures or windows of sound that a new version also answers before it may serve. 0: none. "
            "Default: 50 of a camera, 20 of a microphone, 3 files."
        ),
    ),
    click.option(
        "--min-agreement",
        type=_number("min_agreement"),
        metavar="SHARE",
        help=(
            "Lowest agreement of the answers of a new version with those of the version before, from 0 to 1. 0: the "
            "answers are not compared. Default: 0.8."
        ),
    ),
    click.option(
        "--max-latency",
        type=_number("max_latency"),
        metavar="MS",
        help=(
            "Longest time per answer of a new version in milliseconds. Default: 33.3 for a camera, 250 for a "
            "microphone, no limit for files. If the version before is slower, its own time is the limit."
        ),
    ),
    click.option(
        "--probation",
        type=_number("probation", whole=True),
        metavar="INPUTS",
        help=(
            "Number of inputs that a new version answers before the version before is given up. It returns if the new "
            "one raises an error, is too slow or disagrees. Default: 100 of a camera, 40 of a microphone, 5 files."
        ),
    ),
)


def page_updates(page: str | None, **values: Any) -> PageUpdates | None:
    """Return where the page gets newer versions, from the values of the options, or None without ``--updates``.

    Raises ``UsageError`` for options that do not fit together.
    """
    given = {name: value for name, value in values.items() if value is not None}
    if "updates" not in given:
        if given:
            option = f"--{next(iter(given)).replace('_', '-')}"
            raise UsageError(f"{option} is an option of --updates.", "Give --updates as well.")
        return None
    if page is None:
        raise UsageError(
            "--updates updates the model of a page, but no page is written.", "Give --page as well."
        )
    if "trusted_root" not in given:
        raise UsageError(
            "--updates needs the trusted root of the repository.",
            "Give --trusted-root with the file root.json of the publisher.",
        )
    fields = {_FIELDS[name]: value for name, value in given.items() if name in _FIELDS}
    return PageUpdates(given["updates"], given["trusted_root"], **fields)
