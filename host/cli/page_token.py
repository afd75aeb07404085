"""The access token of a page that a command serves.

Every user of a computer can read the command lines of all processes, so a token comes from an environment variable or
from a file.
"""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from arenite.errors import UsageError

_MAX_TOKEN_BYTES = 1024


def resolve_token(parameter: str, token: str | None, token_file: Path | None) -> str | None:
    """Return the token of the command that runs now. ``parameter`` is the name of the parameter of --token, ``token``
    its value, and ``token_file`` the value of --token-file.

    Raises ``UsageError`` if a token is on the command line, if it is given twice, or if the file cannot be used.
    """
    if is_on_command_line(parameter):
        if token_file is not None:
            raise UsageError("--token and --token-file exclude each other.", "Give one of them.")
        if token != "auto":
            raise UsageError(
                "Other users of this computer can read the token of --token in the list of processes.",
                "Set ARENITE_TOKEN, or use --token-file; --token takes only the word auto.",
            )
    return token if token_file is None else _read_token(token_file)


def is_on_command_line(parameter: str) -> bool:
    return click.get_current_context().get_parameter_source(parameter) is ParameterSource.COMMANDLINE


def _read_token(path: Path) -> str:
    """Return the first line of the file. Raises ``UsageError`` if the file cannot be read or has no token."""
    try:
        with path.open("rb") as file:
            token = file.readline(_MAX_TOKEN_BYTES + 1).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The token file {path} cannot be read: {getattr(error, 'strerror', None) or error}.",
            "Write the token as text into the file, and make it readable for yourself only.",
        ) from error
    if not token or len(token) > _MAX_TOKEN_BYTES:
        raise UsageError(
            f"The first line of the token file {path} is "
            + ("empty." if not token else f"longer than {_MAX_TOKEN_BYTES} bytes."),
            "Write the token as text into the file.",
        )
    return token
