"""Secrets of ``arenite camera``: the token of the dashboard, and passwords in the addresses of sources and brokers.

Every user of a computer can read the command lines of all processes, so each secret can be given in an environment
variable or in a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from arenite.errors import UsageError

_MAX_TOKEN_BYTES = 1024
_MAX_SOURCES_BYTES = 65536


def resolve_secrets(
    values: dict[str, Any], token_file: Path | None, source_file: Path | None, report: Callable[[str], None]
) -> None:
    """Put the token and the sources that files and the environment give into ``values``, the command's arguments.

    ``report`` is called with a warning for each other secret on the command line. Raises ``UsageError`` if a token is
    on the command line, if a value is given twice, or if a file cannot be used.
    """
    token_is_visible = _is_on_command_line("outputs__token")
    if token_is_visible and token_file is not None:
        raise UsageError("--token and --token-file exclude each other.", "Give one of them.")
    if token_is_visible and values["outputs__token"] != "auto":
        raise UsageError(
            "Other users of this computer can read the token of --token in the list of processes.",
            "Set ARENITE_TOKEN, or use --token-file; --token takes only the word auto.",
        )
    if _is_on_command_line("outputs__mqtt") and "@" in values["outputs__mqtt"]:
        report(
            "Other users of this computer can read the password of --mqtt in the list of processes."
            " Set ARENITE_MQTT instead."
        )
    if token_file is not None:
        values["outputs__token"] = read_token(token_file)
    sources_are_visible = _is_on_command_line("source__sources")
    if sources_are_visible and source_file is not None:
        raise UsageError("--source and --source-file exclude each other.", "Put all sources into the file.")
    if source_file is not None:
        values["source__sources"] = _read_sources(source_file)
    elif not sources_are_visible:
        values["source__sources"] = _lines(os.environ.get("ARENITE_SOURCE", "")) or values["source__sources"]
    elif any(_has_secret(source) for source in values["source__sources"]):
        report(
            "Other users of this computer can read the password of --source in the list of processes."
            " Set ARENITE_SOURCE, or use --source-file."
        )


def _is_on_command_line(parameter: str) -> bool:
    return click.get_current_context().get_parameter_source(parameter) is ParameterSource.COMMANDLINE


def _has_secret(source: str) -> bool:
    from arenite.host.camera.sources.redaction import redacted

    return redacted(source) != source


def read_token(path: Path) -> str:
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


def _read_sources(path: Path) -> tuple[str, ...]:
    """Return the lines of the file. Raises ``UsageError`` if the file cannot be read or has no lines."""
    hint = "Write one source per line into the file, and make it readable for yourself only."
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_SOURCES_BYTES + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"The source file {path} cannot be read: {reason}.", hint) from error
    if len(text) > _MAX_SOURCES_BYTES:
        raise UsageError(f"The source file {path} is longer than {_MAX_SOURCES_BYTES} bytes.", hint)
    sources = _lines(text)
    if not sources:
        raise UsageError(f"The source file {path} names no source.", hint)
    return sources


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
