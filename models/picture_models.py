"""Records of picture models, ``camera.toml``: by name, alias or the hash of the file.

This file is separate from the manifest because the camera loop starts with it: reading it imports no downloader.
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
    """``preprocessing`` and ``postprocessing``: as ``Preprocessing.from_json`` and its counterpart read them."""

    name: str
    sha256: str
    zoo: bool  # the zoo downloads it
    aliases: tuple[str, ...]
    labels: tuple[str, ...]
    preprocessing: Mapping[str, Any]
    postprocessing: Mapping[str, Any]


def picture_models() -> tuple[PictureModel, ...]:
    """All records, in the file's order."""
    return tuple(_read(block) for block in _blocks())


def by_name(name: str) -> PictureModel | None:
    """The zoo's model of this name or alias; case, - and _ do not matter."""
    wanted = _plain(name)
    for model in _models_containing(f'"{wanted}"'):
        if model.zoo and wanted in map(_plain, (model.name, *model.aliases)):
            return model
    return None


def by_hash(sha256: str) -> PictureModel | None:
    """The record of the file with this hash, if there is one."""
    return next((model for model in _models_containing(sha256) if model.sha256 == sha256), None)


@cache
def _blocks() -> tuple[str, ...]:
    """The text of each record: parsing all of them would take longer than the other steps of opening a model."""
    return tuple(RECORDS.read_text("utf-8").split("[[model]]\n")[1:])


def _models_containing(text: str) -> Iterator[PictureModel]:
    """The models whose record contains ``text`` literally."""
    return (_read(block) for block in _blocks() if text in _plain(block))


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


def cached_model_path(name: str, sha256: str) -> Path:
    """The path of the model's file in the cache; the hash in the path keeps versions apart."""
    return cache_directory() / "zoo" / sha256[:12] / f"{name}.tflite"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
