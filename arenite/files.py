"""Write files atomically, and find the cache folder for fetched and built files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from arenite.errors import ToolError, UsageError


def cache_directory() -> Path:
    """Return the folder for fetched and built files: ``$ARENITE_CACHE``, by default ``~/.cache/arenite``."""
    configured = os.environ.get("ARENITE_CACHE")
    return Path(configured).expanduser() if configured else Path.home() / ".cache" / "arenite"


def cache_error(error: OSError) -> ToolError:
    """Return the error to raise if the cache folder cannot be written because of ``error``."""
    return ToolError(
        f"Cannot write to the cache {cache_directory()}: {error.strerror or error}.",
        "Set ARENITE_CACHE to a writable folder.",
    )


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Write ``content`` (text as UTF-8) to ``path`` in one step: a reader sees the old file or the new one.

    The function is for paths from the user. A device such as /dev/stdout is written to, not replaced, and a symbolic
    link stays a link. Raises ``UsageError`` when the path cannot be written.
    """
    destination = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if destination.exists() and not destination.is_file() and not destination.is_dir():
            destination.write_bytes(data)
        else:
            replace_file(destination, data)
    except OSError as error:
        raise UsageError(
            f"Cannot write {destination}: {error.strerror or error}.",
            "Give a path in a folder that you may write to.",
        ) from error


def replace_file(
    path: Path, data: bytes | memoryview, *, durable: bool = True, private: bool = False
) -> None:
    """Replace the file at ``path`` in one step; a symbolic link is followed. Raises ``OSError``.

    Missing parent folders are created. An existing file keeps its permissions. With ``durable=False`` the function
    does not wait for the disk: a power failure (but not a crash of the program) may leave an empty file.
    With ``private``, only this user can read and write the file.
    """
    target = Path(os.path.realpath(path))
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The temporary file is in the same folder, because a rename is atomic only within one file system.
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if not private:  # mkstemp created a private file
            mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
            os.chmod(temporary, mode)
        os.replace(temporary, target)
        temporary = None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _umask() -> int:
    """Return the process's file mode mask, which Python can read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
