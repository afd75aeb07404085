"""Secrets of ``arenite camera``: the token of the dashboard, and passwords in the addresses of sources and brokers.

Every user of a computer can read the command lines of all processes, so each secret can be given in an environment
variable or in a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.cli.page_token import is_on_command_line, resolve_token

_MAX_SOURCES_BYTES = 65536


def resolve_secrets(
    values: dict[str, Any], token_file: Path | None, source_file: Path | None, report: Callable[[str], None]
) -> None:
    """Put the token and the sources that files and the environment give into ``values``, the command's arguments.

    ``report`` is called with a warning for each other secret on the command line. Raises ``UsageError`` if a token is
    on the command line, if a value is given twice, or if a file cannot be used.
    """
    values["outputs__token"] = resolve_token("outputs__token", values["outputs__token"], token_file)
    if is_on_command_line("outputs__mqtt") and "@" in values["outputs__mqtt"]:
        report(
            "Other users of this computer can read the password of --mqtt in the list of processes."
            " Set ARENITE_MQTT instead."
        )
    sources_are_visible = is_on_command_line("source__sources")
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


def _has_secret(source: str) -> bool:
    from arenite.host.camera.sources.redaction import redacted

    return redacted(source) != source


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
