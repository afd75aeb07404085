"""``arenite update repository``: publish models in a signed repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from arenite.host.cli.option_types import Number
from arenite.host.report.console import show
from arenite.host.update.repository.model_target import MAX_COUNTER
from arenite.host.update.repository.publisher import (
    OFFLINE_DAYS,
    ONLINE_DAYS,
    Expiry,
    RoleKeys,
    add_model,
    init_repository,
    refresh_repository,
)

_FOLDER = click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
_DAYS = Number(0, 36500, min_open=True)


def _key(role: str, help: str, required: bool = True) -> Callable[[Any], Any]:
    return click.option(
        f"--{role}-key", required=required, type=click.Path(path_type=Path), metavar="FILE", help=help
    )


def _days(name: str, days: int, what: str) -> Callable[[Any], Any]:
    return click.option(
        f"--{name}-days", type=_DAYS, default=days, show_default=True, help=f"Days until {what} expire."
    )


_OFFLINE_DAYS = _days("offline", OFFLINE_DAYS, "new signatures with the root key and the targets key")
_ONLINE_DAYS = _days("online", ONLINE_DAYS, "new signatures with the online key")


@click.group()
def repository() -> None:
    """Publish models in a signed repository, from which `--updates` of `arenite camera` and `arenite web` takes them.

    The repository is a folder in the format of TUF (The Update Framework). Any server of static files can serve it.
    docs/camera-updates.md describes it, and docs/web-updates.md the use with pages. Needs the extra `update`: pip
    install 'arenite[update]'.
    """


@repository.command()
@_FOLDER
@_key("root", "Private key that names the other keys. Keep it offline.")
@_key("targets", "Private key that signs models. Keep it offline.")
@_key("online", "Private key that renews the dates.")
@_OFFLINE_DAYS
@_ONLINE_DAYS
def init(
    folder: Path,
    root_key: Path,
    targets_key: Path,
    online_key: Path,
    offline_days: float,
    online_days: float,
) -> int:
    """Make an empty repository in DIR. `arenite update keygen` makes the keys."""
    keys = RoleKeys(root_key, targets_key, online_key)
    root = init_repository(folder, keys, Expiry(offline_days, online_days))
    show(f"{root}: trusted root, for the computers with cameras")
    show(f"Publish a model with `arenite update repository add {folder} MODEL`, and serve {folder}.")
    return 0


@repository.command()
@_FOLDER
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name that the model has on the cameras or in the page.")
@click.option("--version", required=True, help="Version of the model, such as 1.2.0.")
@_key("targets", "Private key that signs models.")
@_key("online", "Private key that renews the dates.")
@click.option(
    "--counter",
    type=click.IntRange(0, MAX_COUNTER),
    help="Counter of this version. Default: one more than that of the version before.",
)
@click.option(
    "--min-counter",
    type=click.IntRange(0, MAX_COUNTER),
    help="Computers that have seen this version refuse every lower counter. Default: unchanged.",
)
@_OFFLINE_DAYS
@_ONLINE_DAYS
def add(
    folder: Path,
    model: Path,
    name: str,
    version: str,
    targets_key: Path,
    online_key: Path,
    counter: int | None,
    min_counter: int | None,
    offline_days: float,
    online_days: float,
) -> int:
    """Publish the file MODEL as the present version of a model in the repository DIR.

    For pages (`arenite web --updates`), MODEL is the folder of a page that `arenite web --page` wrote.
    """
    keys = RoleKeys(None, targets_key, online_key)
    target = add_model(
        folder,
        model,
        name,
        version,
        keys,
        counter=counter,
        min_counter=min_counter,
        expiry=Expiry(offline_days, online_days),
    )
    show(
        f"{target.name} {target.version}: {target.kind}, {target.length:,} bytes, counter {target.counter}, "
        f"lowest counter {target.min_counter}, SHA-256 {target.sha256}"
    )
    return 0


@repository.command()
@_FOLDER
@_key("online", "Private key that renews the dates.")
@_key("targets", "Private key that signs models. Default: its date is not renewed.", required=False)
@_key("root", "Private key of the root. Default: its date is not renewed.", required=False)
@_OFFLINE_DAYS
@_ONLINE_DAYS
def refresh(
    folder: Path,
    online_key: Path,
    targets_key: Path | None,
    root_key: Path | None,
    offline_days: float,
    online_days: float,
) -> int:
    """Renew the dates of the repository DIR before they expire."""
    dates = refresh_repository(
        folder, RoleKeys(root_key, targets_key, online_key), Expiry(offline_days, online_days)
    )
    for role, date in dates.items():
        show(f"{role} is valid until {date:%Y-%m-%d %H:%M} UTC")
    return 0
