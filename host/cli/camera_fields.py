"""Options of ``arenite camera`` that set fields of ``CameraOptions``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

from arenite.host.camera.option_parsing import parse_window
from arenite.host.camera.options import (
    CameraOptions,
    EnergyOptions,
    LoopOptions,
    ModelOptions,
    OutputOptions,
    Range,
    SourceOptions,
    UpdateOptions,
)
from arenite.host.cli.option_types import Number
from arenite.host.governor.budget_text import parse_budget

_GROUPS: dict[str, Any] = {
    "source": SourceOptions,
    "model": ModelOptions,
    "loop": LoopOptions,
    "energy": EnergyOptions,
    "outputs": OutputOptions,
    "updates": UpdateOptions,
}
#: Maps a field of ``CameraOptions`` to the function that parses its text on the command line.
_PARSED: dict[str, Callable[[str], Any]] = {"energy.limits": parse_budget, "model.window": parse_window}


@cache
def _field_types(group: str) -> dict[str, Any]:
    return get_type_hints(_GROUPS[group], include_extras=True)


def field_option(*names: str, sets: str, help: str = "", **more: Any) -> Callable[[Any], Any]:
    """Return an option of the command that sets the field ``sets`` ("group.field") of ``CameraOptions``.

    The field determines the type, range and default of the option. ``more`` has further arguments of ``click.option``.
    """
    group, name = sets.split(".")
    default = next(each.default for each in fields(_GROUPS[group]) if each.name == name)
    more = {"default": default, **_click_type(_field_types(group)[name]), **more}
    if sets in _PARSED:
        more["default"] = None
    more.setdefault(
        "show_default", default is not None and not more.get("is_flag") and not more.get("multiple")
    )
    return click.option(*names, f"{group}__{name}", help=help, **more)


def _to_int(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


def _click_type(hint: Any) -> dict[str, Any]:
    """Return the arguments of ``click.option`` for a field with the type annotation ``hint``."""
    limits = Range()
    if get_origin(hint) is Annotated:
        hint, limits = get_args(hint)
    if type(None) in get_args(hint):
        kinds = [each for each in get_args(hint) if each is not type(None)]
        if kinds == [bool]:
            return {}  # the option has two names, one for true and one for false
        hint = kinds[0]
    if get_origin(hint) is Literal:
        return {"type": click.Choice(get_args(hint))}
    if get_origin(hint) is tuple:
        return {"multiple": True}
    if hint is bool:
        return {"is_flag": True}
    if hint is int:
        return {"type": click.IntRange(_to_int(limits.min), _to_int(limits.max))}
    if hint is float:
        return {"type": Number(limits.min, limits.max, min_open=limits.above)}
    return {"type": click.Path(path_type=Path) if hint is Path else str}


def camera_options_of(values: dict[str, Any]) -> CameraOptions:
    """Return the values of the command line as ``CameraOptions``. Raises ``UsageError``."""
    groups: dict[str, dict[str, Any]] = {group: {} for group in _GROUPS}
    for path, value in values.items():
        group, name = path.split("__")
        parse = _PARSED.get(f"{group}.{name}")
        if parse is None:
            groups[group][name] = value
        elif value:
            groups[group][name] = parse(value)
    return CameraOptions(**{group: kind(**groups[group]) for group, kind in _GROUPS.items()})
