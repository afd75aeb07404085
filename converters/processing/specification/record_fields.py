"""Read a record that a user wrote into a frozen dataclass, with an error for each kind of mistake."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from arenite.errors import UsageError

T = TypeVar("T")

#: Larger numbers are rejected: they are mistakes, and a larger integer might not fit into a float.
_MAX_NUMBER = 1e30
_HINT = "See docs/processing.md for the fields of each step."


def build_record(kind: type[T], record: Mapping[str, Any], location: str) -> T:
    """Convert ``record`` to an object of ``kind``, a dataclass with fields of type int, float, bool, str and tuple.

    A single number is read as a tuple of one. Every error message begins with ``location``. Raises ``UsageError`` for a
    key that ``kind`` does not have, a missing key, or a value of the wrong type.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in record:
        if name not in fields:
            raise UsageError(
                f"{location} does not take '{name}'.", f"It takes {', '.join(fields) or 'nothing'}. {_HINT}"
            )
    values = {}
    for name, field in fields.items():
        if name in record:
            values[name] = _value(record[name], str(field.type), f"{location}, {name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{location} lacks '{name}'.", _HINT)
    return kind(**values)


def _value(value: Any, kind: str, location: str) -> Any:
    """Check that ``value`` has the type with the annotation ``kind`` and return it."""
    if kind.endswith(" | None"):
        return None if value is None else _value(value, kind.removesuffix(" | None"), location)
    if kind.startswith("tuple["):
        items = value if isinstance(value, (list, tuple)) else [value]
        if not items:
            raise UsageError(f"{location}: is empty.", _HINT)
        inner = kind[len("tuple[") : -len(", ...]")]
        return tuple(_value(item, inner, location) for item in items)
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _MAX_NUMBER
    if kind == "float":
        if number and math.isfinite(value):
            return float(value)
    elif kind == "int":
        if number and isinstance(value, int):
            return value
    elif isinstance(value, {"str": str, "bool": bool}[kind]):
        return value
    raise UsageError(f"{location}: is {str(value)[:60]!r}, expected {_NAMES.get(kind, kind)}.", _HINT)


_NAMES = {"float": "a finite number", "int": "a whole number", "str": "a text", "bool": "true or false"}


def record_of(step: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, as JSON values for ``build_record``."""
    out = {}
    for field in dataclasses.fields(step):
        value = getattr(step, field.name)
        if field.default is dataclasses.MISSING or value != field.default:
            out[field.name] = _plain(value)
    return out


def _plain(value: Any) -> Any:
    """Convert tuples to lists."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def check_one_of(value: str, allowed: tuple[str, ...], name: str) -> None:
    """Raise ``UsageError`` unless ``value`` is among ``allowed``."""
    if value not in allowed:
        raise UsageError(f"{name} is '{value}', expected one of {', '.join(allowed)}.", _HINT)


def check_within(value: float, low: float, high: float, name: str) -> None:
    """Raise ``UsageError`` unless low <= value <= high."""
    if not low <= value <= high:
        raise UsageError(f"{name} is {value:g}, expected {low:g} to {high:g}.", _HINT)


def record_error(problem: str) -> UsageError:
    """Return a ``UsageError`` whose hint names the documentation page of the steps."""
    return UsageError(problem, _HINT)
