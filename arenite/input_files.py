"""Read files, TOML, JSON and Python literals without trusting their size and depth."""

from __future__ import annotations

import ast
import errno
import json
import os
import stat
import tomllib
import warnings
from pathlib import Path
from typing import Any

#: The largest size of a recording (of a power meter or of events) in bytes. Recordings are the largest files that
#: commands read as text.
MAX_TRACE_BYTES = 256 << 20
#: The largest size of a file with settings, labels or results in bytes.
MAX_SETTINGS_BYTES = 16 << 20
#: The largest integer of a file in bits. Every larger one is a mistake, and the largest float has 1024.
_MAX_BITS = 1000


def check_is_file(path: str | Path) -> None:
    """Raise ``OSError`` if ``path`` does not exist or is not a file: a named pipe could let the command wait forever,
    and a device such as ``/dev/zero`` has no end. Pipes that the user's shell opened (``/dev/fd``) are accepted."""
    status = os.stat(path)
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
    if stat.S_ISFIFO(status.st_mode) and not str(path).startswith(
        ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
    ):
        raise OSError(errno.EINVAL, "it is a named pipe, not a file", str(path))


def read_bytes(path: str | Path, max_bytes: int = MAX_SETTINGS_BYTES) -> bytes:
    """Return the content of a file. Raises ``OSError`` if it cannot be read, is not a file (see ``check_is_file``), or
    has more than ``max_bytes``."""
    check_is_file(path)
    with Path(path).open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it has more than {max_bytes:,} bytes", str(path))
    return data


def read_text(path: str | Path, encoding: str = "utf-8", *, max_bytes: int = MAX_SETTINGS_BYTES) -> str:
    """Return the content of a text file with ``\\n`` as line ends. Raises the errors of ``read_bytes``, and
    ``UnicodeDecodeError``."""
    text = read_bytes(path, max_bytes).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_json(text: str | bytes) -> Any:
    """Return the value that the JSON text describes. Raises ``ValueError`` for text that is not JSON, that is nested
    too deeply for Python, such as 100,000 nested lists, or that has an integer that no float can hold."""
    try:
        return _checked(json.loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that the TOML text describes. Raises ``ValueError``, as ``parse_json`` does."""
    try:
        table: dict[str, Any] = _checked(tomllib.loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return table


def parse_literal(text: str) -> Any:
    """Return the value of a Python literal, such as ``{0: 'cat'}``. Raises ``ValueError``, as ``parse_json`` does."""
    try:
        with warnings.catch_warnings():
            # Python warns about its own syntax, such as an unknown escape sequence in a text.
            warnings.simplefilter("ignore")
            return _checked(ast.literal_eval(text))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("it is not a Python literal") from error


def _checked(value: Any) -> Any:
    """Return ``value``. Raises ``ValueError`` if it contains an integer that ``float`` cannot convert."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, (list, tuple)):
            pending += item
        elif isinstance(item, int) and item.bit_length() > _MAX_BITS:
            raise ValueError(f"the number {str(item)[:20]}... has too many digits")
    return value
