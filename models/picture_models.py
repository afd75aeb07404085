"""Find the records of models that take pictures in ``camera.toml``, by name, alias or hash of the model's file.

These records are separate from the manifest, so that the camera loop can start without importing the downloader.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from arenite.files import cache_directory

RECORDS = Path(__file__).parent / "camera.toml"


@dataclass(frozen=True)
class PictureModel:
    """A record of ``camera.toml``. ``sha256`` is the hash of the model's file. ``Preprocessing.from_json`` and
    ``Postprocessing.from_json`` read the last two fields."""

    name: str
    sha256: str
    zoo: bool  # whether the zoo has this model
    aliases: tuple[str, ...]
    labels: tuple[str, ...]
    preprocessing: Mapping[str, Any]
    postprocessing: Mapping[str, Any]


def picture_models() -> tuple[PictureModel, ...]:
    """Return all records, in the order of the file."""
    return tuple(_read(block) for block in _blocks())


def picture_model_by_name(name: str) -> PictureModel | None:
    """Return the record of the zoo model with this name or alias, or None. Upper and lower case are equal, and so are
    - and _."""
    plain_name = _normalize_name(name)
    for model in _models_containing(f'"{plain_name}"'):
        if model.zoo and plain_name in map(_normalize_name, (model.name, *model.aliases)):
            return model
    return None


def picture_model_by_hash(sha256: str) -> PictureModel | None:
    """Return the record of the model whose file has this SHA-256 hash, or None."""
    return next((model for model in _models_containing(sha256) if model.sha256 == sha256), None)


@cache
def _blocks() -> tuple[str, ...]:
    """Return the text of each record. Only the necessary records are parsed, because parsing all records would take
    longer than all other steps of opening a model."""
    return tuple(RECORDS.read_text("utf-8").split("[[model]]\n")[1:])


def _models_containing(text: str) -> Iterator[PictureModel]:
    """Return the records whose text contains ``text``, in lower case and with _ instead of -."""
    return (_read(block) for block in _blocks() if text in _normalize_name(block))


@cache
def _read(block: str) -> PictureModel:
    row = tomllib.loads(block.replace("[model.", "["))
    return PictureModel(
        name=row["name"],
        sha256=row["sha256"],
        zoo=row.get("zoo", False),
        aliases=tuple(row.get("aliases", ())),
        labels=tuple(row.get("labels", ())),
        preprocessing=row["preprocessing"],
        postprocessing=row["postprocessing"],
    )


def cached_model_path(name: str, sha256: str, file_format: str = "tflite") -> Path:
    """Return the path of the file of model ``name`` in the cache. The path contains the hash, so each version of a
    model has its own path."""
    return cache_directory() / "zoo" / sha256[:12] / f"{name}.{file_format}"


def _normalize_name(name: str) -> str:
    return name.lower().replace("-", "_")
