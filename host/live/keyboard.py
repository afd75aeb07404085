"""Read single keys of a terminal without waiting."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Keys:
    """The keys that were pressed since the last call of :meth:`read`. Without a terminal, there are none."""

    def __init__(self, has_terminal: bool) -> None:
        self.has_terminal = has_terminal

    def read(self) -> str:
        """Return the characters of the keys, or an empty text."""
        text = ""
        # sys.stdin has a buffer, in which select() sees no keys.
        descriptor = sys.stdin.fileno() if self.has_terminal else -1
        while self.has_terminal and select.select([descriptor], [], [], 0)[0]:
            data = os.read(descriptor, 64)
            if not data:
                self.has_terminal = False
                break
            text += data.decode("utf-8", "replace")
        return text


@contextmanager
def pressed_keys(is_wanted: bool) -> Iterator[Keys]:
    """Yield the keys of the terminal, which are read without Enter until the block ends. On Windows, and if keys are
    not wanted, there are none."""
    if not is_wanted or not sys.stdin.isatty() or sys.platform == "win32":
        yield Keys(False)
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keys(True)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
