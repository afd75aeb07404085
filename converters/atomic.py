"""Write a file so that nobody ever sees half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from arenite.converters.errors import UsageError


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Put ``content`` (text as UTF-8) at ``path`` in one step: a reader, or a crash, meets the old file or the new one.

    For files that a user names: raises ``UsageError`` when the place cannot be written. What is no file, such as
    /dev/stdout, is written to, not replaced; a symbolic link stays one.
    """
    given = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if given.exists() and not given.is_file() and not given.is_dir():
            given.write_bytes(data)
        else:
            replace_file(given, data)
    except OSError as error:
        raise UsageError(
            f"Cannot write {given}: {error.strerror or error}.",
            "Give a path in a folder that you may write to.",
        ) from error


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put ``data`` at ``path`` in one step, where a link at ``path`` leads. Raises ``OSError``.

    Missing parent folders are made. An existing file keeps its permissions. Without ``durable`` it is not waited until
    the disk has it: a power failure, but no crash of a program, may leave an empty file.
    """
    target = Path(os.path.realpath(path))
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, because a rename is atomic only within one file system.
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        os.replace(temporary, target)
        temporary = None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _umask() -> int:
    """The process's file mode mask, which Python only tells by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
