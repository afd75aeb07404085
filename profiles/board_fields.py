"""Read and check the fields of a board profile. Errors name the file and the field."""

from __future__ import annotations

import difflib
import math
from typing import Any

from arenite.errors import ProfileError


class BoardTable:
    """A TOML table that names the file and the field in every error, and records the fields that were read."""

    def __init__(self, location: str, data: object) -> None:
        if not isinstance(data, dict):
            raise ProfileError(
                f"{location} is not a table.", "Write it as [name] followed by key = value lines."
            )
        self._location = location
        self._data: dict[str, Any] = data
        self._read_keys: set[str] = set()

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """Return the value of the field ``key``, or ``default`` if the table does not have it. Raises
        ``ProfileError`` if the field is missing and has no default, has another type than ``kind``, or is a number that
        is negative or not finite."""
        self._read_keys.add(key)
        if key not in self._data:
            if default is None:
                raise ProfileError(
                    f"{self._location} has no field '{key}'.", "Compare it with another profile."
                )
            return default
        value = self._data[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ProfileError(f"{self._location}: '{key}' must be {kind.__name__}, not {value!r}.")
        if isinstance(value, (int, float)) and not math.isfinite(value):
            raise ProfileError(f"{self._location}: '{key}' must be a finite number, but is {value}.")
        if isinstance(value, (int, float)) and value < 0:
            raise ProfileError(f"{self._location}: '{key}' must not be negative, but is {value}.")
        return value

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Return the text of the field ``key``. Raises ``ProfileError`` if it is not one of ``allowed``."""
        value = self.get(key, str, default)
        return self._allowed(key, value, allowed)

    def choices(self, key: str, allowed: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the list of strings of the field ``key``, or () if the field is missing. Raises ``ProfileError`` if
        ``allowed`` is not None and a string is not one of ``allowed``."""
        values = self.get(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise ProfileError(f"{self._location}: '{key}' must be a list of strings, not {values!r}.")
            if allowed is not None:
                self._allowed(key, value, allowed)
        return tuple(values)

    def _allowed(self, key: str, value: str, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            raise ProfileError(
                f"{self._location}: '{key}' is '{value}'.", f"It must be one of {', '.join(allowed)}."
            )
        return value

    def table(self, key: str) -> BoardTable | None:
        """Return the sub-table ``key``, or None if the profile does not have it."""
        self._read_keys.add(key)
        if key not in self._data:
            return None
        return BoardTable(f"{self._location} [{key}]", self._data[key])

    def tables(self, key: str) -> list[BoardTable]:
        """Return the tables ``[[key]]``. Raises ``ProfileError`` if there is none."""
        self._read_keys.add(key)
        rows = self._data.get(key)
        if not isinstance(rows, list) or not rows:
            raise ProfileError(f"{self._location} needs at least one [[{key}]] entry.")
        return [BoardTable(f"{self._location} [[{key}]] #{i}", row) for i, row in enumerate(rows)]

    def items(self) -> dict[str, Any]:
        """Return all fields of the table, unchecked."""
        return dict(self._data)

    def finish(self) -> None:
        """Raise ``ProfileError`` for an unknown field, which is usually misspelt."""
        for key in self._data:
            if key not in self._read_keys:
                close_names = difflib.get_close_matches(key, self._read_keys, 1)
                hint = (
                    f"Did you mean '{close_names[0]}'?"
                    if close_names
                    else f"Known fields: {', '.join(sorted(self._read_keys))}."
                )
                raise ProfileError(f"{self._location} has an unknown field '{key}'.", hint)
