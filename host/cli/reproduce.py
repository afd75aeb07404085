"""Reconstruct the command line of the command that is running, so that a report can show it."""

from __future__ import annotations

import shlex
from collections.abc import Collection

import click


def command_line(context: click.Context, without: Collection[str] = ()) -> str:
    """Return the command line with every argument, and with every option whose value differs from its default, except
    for the parameters in ``without``."""
    words = ["arenite", *([context.info_name] if context.info_name else [])]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in without or value is None or value == parameter.get_default(context):
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif getattr(parameter, "is_flag", False):
            words.append(parameter.opts[0])
        else:
            option = max(parameter.opts, key=len)
            for each_value in value if parameter.multiple else [value]:
                words += [option, str(each_value)]
    return shlex.join(words)
