"""Wait for the end of a command that runs until the user stops it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def ending_signals() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set. Without this, they would end the program with an error."""
    ended = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in numbers}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
