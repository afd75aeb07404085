"""Lock a file for one process at a time; the system frees the lock when the process ends for any reason."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def try_lock(handle: int) -> None:
        """Lock an open file. Raises ``OSError`` if another process has locked it."""
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def try_lock(handle: int) -> None:
        """Lock an open file. Raises ``OSError`` if another process has locked it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_now(path: Path) -> BinaryIO | None:
    """Lock the file ``path``, and return it open: closing it frees the lock. Return None if another process, or another
    part of this one, has the lock. Raises ``OSError`` if the file cannot be opened or locked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b")
    try:
        try_lock(file.fileno())
    except (BlockingIOError, PermissionError):
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file


@contextmanager
def file_lock(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Lock the file ``path`` while the block runs. ``on_wait`` is called once if another process has the lock.

    Raises ``OSError`` if the file cannot be locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        reported = False
        while True:
            try:
                try_lock(file.fileno())
                break
            except OSError as error:
                if not isinstance(error, BlockingIOError | PermissionError):
                    raise
            if on_wait is not None and not reported:
                on_wait()
            reported = True
            time.sleep(0.5)
        yield
