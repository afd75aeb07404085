"""Validate the JSON output of the commands with the published schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource

from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/schemas"


def file_name(schema: str) -> str:
    """Return the file name of a schema: ``bench-1.json`` for ``arenite.bench/1``."""
    return schema.removeprefix("arenite.").replace("/", "-") + ".json"


@cache
def schemas() -> Mapping[str, dict[str, Any]]:
    """Return all published schemas by file name."""
    return {path.name: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}


@cache
def _registry() -> Registry:
    return Registry().with_resources(
        (name, Resource.from_contents(contents)) for name, contents in schemas().items()
    )


def problems(value: Mapping[str, Any]) -> list[str]:
    """Return a line for each part of the JSON object ``value`` that contradicts its schema, with the path of the
    part."""
    schema = schemas()[file_name(value["schema"])]
    validator = Draft202012Validator(schema, registry=_registry())
    errors = list(validator.iter_errors(value))
    # If a result can have several forms, the error of the closest form is the most helpful.
    nearest = best_match(errors)
    if nearest is not None and nearest not in errors:
        errors.append(nearest)
    return [f"{value['schema']} {error.json_path}: {error.message[:300]}" for error in errors]
