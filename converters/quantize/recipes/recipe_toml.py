"""Writing a recipe as a TOML file, for the result of a search and for the record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from arenite.converters.quantize.recipes.recipe import Recipe

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(recipe: Recipe) -> str:
    """Return the text of a file that ``load_recipe`` reads as an equal recipe; every setting is written out."""
    whole = recipe.to_json()
    layers = whole.pop("layers")
    if recipe.description:
        whole = {"name": whole.pop("name"), "description": recipe.description, **whole}
    parts = ["".join(f"{_key(k)} = {_value(v)}\n" for k, v in whole.items())]
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
    return repr(value)


def _text(text: str) -> str:
    """Return a basic string: JSON's escapes are TOML's, save that TOML wants one for DEL too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
