"""Read the numbers and flags of a table in a JSON file that describes a model."""

from __future__ import annotations

from typing import Any

from arenite.errors import ModelError


class ConfigFields:
    """The table ``data`` of the file ``source``. ``hint`` says what to do if a field is wrong. Methods raise
    ``ModelError``, which names the field."""

    def __init__(self, source: str, data: dict[str, Any], hint: str) -> None:
        self.source, self._data, self._hint = source, data, hint

    def table(self, key: str) -> ConfigFields:
        """Return the table in the field ``key``."""
        value = self._data.get(key)
        if not isinstance(value, dict):
            raise ModelError(f"{self.source} has no table in the field '{key}'.", self._hint)
        return ConfigFields(self.source, value, self._hint)

    def text(self, key: str, default: str | None = None) -> str:
        """Return the text in the field ``key``. A field that is missing has the value ``default``, unless that is
        None."""
        value = self._data.get(key, default)
        if not isinstance(value, str):
            raise ModelError(f"{self.source} has no text in the field '{key}'.", self._hint)
        return value

    def has(self, key: str) -> bool:
        """Return whether the field ``key`` has a value other than null."""
        return self._data.get(key) is not None

    def number(self, key: str, defaults: dict[str, int]) -> int:
        """Return the whole number ``key``. A field that is null or missing has its value in ``defaults``."""
        value = self._data.get(key)
        if value is None:
            if key not in defaults:
                raise ModelError(f"{self.source} lacks the field '{key}'.", self._hint)
            return defaults[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ModelError(
                f"{self.source}: '{key}' must be a whole number, not {str(value)[:80]}.", self._hint
            )
        return value

    def flag(self, key: str, default: object) -> bool:
        """Return the boolean ``key``."""
        value = self._data.get(key, default)
        if not isinstance(value, bool):
            raise ModelError(
                f"{self.source}: '{key}' must be true or false, not {str(value)[:80]}.", self._hint
            )
        return value
