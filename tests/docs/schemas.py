"""The published schemas of what the commands print, as validators."""

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
    """``arenite.bench/1`` is described by ``bench-1.json``."""
    return schema.removeprefix("arenite.").replace("/", "-") + ".json"


@cache
def schemas() -> Mapping[str, dict[str, Any]]:
    """Every published schema by its file's name."""
    return {path.name: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}


@cache
def _registry() -> Registry:
    return Registry().with_resources(
        (name, Resource.from_contents(contents)) for name, contents in schemas().items()
    )


def problems(value: Mapping[str, Any]) -> list[str]:
    """What in ``value`` contradicts the schema that it names, one line each with the path of the value."""
    schema = schemas()[file_name(value["schema"])]
    validator = Draft202012Validator(schema, registry=_registry())
    errors = list(validator.iter_errors(value))
    # Of the forms that a result may have, the one that comes nearest says what is wrong.
    nearest = best_match(errors)
    if nearest is not None and nearest not in errors:
        errors.append(nearest)
    return [f"{value['schema']} {error.json_path}: {error.message[:300]}" for error in errors]
