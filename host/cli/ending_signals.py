"""End a command that the user stops: one that runs until then, and one that must put something back."""

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


@contextlib.contextmanager
def cleaned_up_after_sigterm() -> Iterator[None]:
    """Let SIGTERM raise ``SystemExit`` inside, so that what must be put back is. Without this, it would end the program
    at once."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
