"""Write the tables of ``docs/zoo.md`` from the zoo's manifest: ``python -m arenite.host.report.zoo_doc``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from arenite.host.report.generated_tables import DOCS, markdown_table, run
from arenite.models.manifest import ZooEntry, manifest
from arenite.models.picture_models import picture_models
from arenite.models.zoo import zoo_entries

PAGE = DOCS / "zoo.md"


def sections() -> dict[str, str]:
    """Return the generated Markdown parts of the page, by the name in their marker lines."""
    models = zoo_entries()
    packages = {item.package for item in models}
    packages |= {entry.package for entry in manifest().samples.values()}
    packages |= {entry.package for entry in manifest().datasets.values()}
    packages |= {entry.package for entry in manifest().pictures.values()}
    return {
        "models": markdown_table(
            ("name", "what it is", "task", "precision", "bytes", "recorded accuracy", "labels"),
            [
                (
                    f"`{item.name}`",
                    item.title,
                    item.task,
                    item.precision,
                    f"{item.bytes:,}",
                    _accuracy(item),
                    ", ".join(item.labels) or "–",
                )
                for item in models
            ],
            right=(4,),
        ),
        "inputs": markdown_table(
            ("name", "input", "trained on"),
            [(f"`{item.name}`", item.preprocessing, item.trained_on) for item in models],
        ),
        "camera": markdown_table(
            ("name", "short names", "input steps", "answer steps"),
            [
                (
                    f"`{model.name}`",
                    ", ".join(f"`{alias}`" for alias in model.aliases),
                    _steps(model.preprocessing),
                    _steps(model.postprocessing),
                )
                for model in picture_models()
                if model.zoo
            ],
        ),
        "sources": markdown_table(
            ("name", "package", "license", "SHA-256 of the file"),
            [(f"`{item.name}`", item.source, item.licence, f"`{item.sha256}`") for item in models],
        ),
        "packages": markdown_table(
            ("package", "version", "license", "MB", "SHA-256"),
            [
                (
                    f"[{package.name}]({package.url})",
                    package.version,
                    package.licence,
                    f"{package.bytes / 1e6:.1f}",
                    f"`{package.sha256}`",
                )
                for package in sorted(packages, key=lambda package: package.name)
            ],
            right=(3,),
        ),
        "samples": markdown_table(
            ("samples", "models", "contents", "package", "license"),
            [
                (
                    f"`{entry.name}`",
                    ", ".join(f"`{item.name}`" for item in models if item.samples == entry.name),
                    entry.title,
                    f"{entry.package.name} {entry.package.version}",
                    entry.licence,
                )
                for entry in manifest().samples.values()
            ],
        ),
    }


def _steps(record: Mapping[str, Any]) -> str:
    """Return the steps of a recorded pre- or postprocessing as text, without the step "normalise"."""
    steps = []
    for step in record["steps"]:
        size = f" {step['width']}x{step['height']}" if "width" in step else ""
        points_text = f" with {step['points']} points" if "points" in step else ""
        if step["do"] != "normalise":
            steps.append(f"{step['do']}{size}{points_text}")
    return ", ".join(steps)


def _accuracy(item: ZooEntry) -> str:
    if item.accuracy is None:
        return "–"
    return f"{100 * item.accuracy.value:.2f} % {item.accuracy.metric} ({item.accuracy.source})"


if __name__ == "__main__":
    sys.exit(run(PAGE, sections()))
