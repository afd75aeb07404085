"""Write a recipe as a TOML file, for example the result of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from arenite.converters.quantize.recipes.recipe import Recipe

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(recipe: Recipe) -> str:
    """Return the text of a TOML file with every setting. ``load_recipe`` reads it as an equal recipe."""
    table = recipe.to_json()
    layers = table.pop("layers")
    if recipe.description:
        table = {"name": table.pop("name"), "description": recipe.description, **table}
    parts = ["".join(f"{_key(k)} = {_value(v)}\n" for k, v in table.items())]
    parts += [
        "[[layers]]\n" + "".join(f"{_key(k)} = {_value(v)}\n" for k, v in rule.items()) for rule in layers
    ]
    return "\n".join(parts)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }" if value else "{}"
        )
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _text(text: str) -> str:
    """Return a TOML basic string. Its escapes are those of JSON, except that DEL must be escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
