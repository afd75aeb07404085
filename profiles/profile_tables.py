"""The code that several profile readers share: reading tables, with errors that name the file and the field, and
finding profiles by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from arenite.errors import ProfileError
from arenite.input_files import parse_toml


class ProfileTable:
    """A TOML table. Each value is read once. ``finish`` raises an error if a value was not read.

    The methods that read a value raise ``ProfileError``, which names the file and the field, if the value is missing or
    wrong.
    """

    #: The folder that errors name as the place of examples.
    folder = "profiles"

    def __init__(self, location: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise ProfileError(
                f"{location} is missing or not a table.", f"Compare it with another file of {self.folder}."
            )
        self._location, self._data = location, dict(data)

    @classmethod
    def parse(cls, text: str, location: str) -> Self:
        """Return the top-level table of a file. Raises ``ProfileError`` for text that is not TOML."""
        try:
            return cls(location, parse_toml(text))
        except ValueError as error:
            raise ProfileError(f"{location} is not valid TOML: {error}.") from error

    def number(self, key: str, minimum: float, maximum: float, default: float | None = None) -> float:
        """Return the number ``key``, which must be from ``minimum`` to ``maximum``."""
        value = self._data.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not minimum <= value <= maximum:
            raise ProfileError(
                f"{self._location}: '{key}' must be a number from {minimum:g} to {maximum:g}, not {value!r}."
            )
        return float(value)

    def text(self, key: str) -> str:
        """Return the text ``key``, which must not be empty."""
        value = self._data.pop(key, None)
        if not isinstance(value, str) or not value:
            raise ProfileError(f"{self._location}: '{key}' must be text, not {value!r}.")
        return value

    def flag(self, key: str) -> bool:
        """Return the boolean ``key``."""
        value = self._data.pop(key, None)
        if not isinstance(value, bool):
            raise ProfileError(f"{self._location}: '{key}' must be true or false, not {value!r}.")
        return value

    def has(self, key: str) -> bool:
        """Return whether the table has a value ``key`` that was not read yet."""
        return key in self._data

    def table(self, key: str, default: Any = None) -> Self:
        """Return the sub-table ``key``."""
        return type(self)(f"{self._location} [{key}]", self._data.pop(key, default))

    def rest(self) -> dict[str, Any]:
        """Return all values that were not read yet, unchecked."""
        data, self._data = self._data, {}
        return data

    def finish(self) -> None:
        """Raise ``ProfileError`` if a value was not read, because its name is usually misspelt."""
        if self._data:
            raise ProfileError(
                f"{self._location} has an unknown field '{next(iter(self._data))}'.",
                "Check the spelling of the field.",
            )


class NamedProfile(Protocol):
    @property
    def name(self) -> str: ...


Profile = TypeVar("Profile", bound=NamedProfile)


def profile_names(folder: Path) -> list[str]:
    """Return the names of all profiles in ``folder``, sorted. The name of a profile is its file name without
    ``.toml``."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_profile(path: Path, kind: str, parse: Callable[[str, str], Profile]) -> Profile:
    """Return the profile that ``parse`` makes from the text and the name of the file ``path``. ``kind`` is the kind
    of the profile for messages. Raises ``ProfileError`` if the profile's name is not the name of the file."""
    profile = parse(path.read_text("utf-8"), path.name)
    if profile.name != path.stem:
        raise ProfileError(
            f"{path.name} describes '{profile.name}'.", f"The file's name must be the {kind}'s name."
        )
    return profile


def profile_path(name: str, kind: str, folder: Path) -> Path:
    """Return the path of the file of profile ``name`` in ``folder``. Raises ``ProfileError``, which lists similar
    names, if it does not exist. ``kind`` is the kind of the profile for messages."""
    names = profile_names(folder)
    if name not in names:
        close_names = difflib.get_close_matches(name, names, 3, 0.4) or names
        raise ProfileError(
            f"There is no {kind} profile '{name}'.", f"Choose one of {', '.join(close_names)}."
        )
    return folder / f"{name}.toml"
