"""The base of simulated instruments on a pseudo-terminal. They receive commands and send samples at the same time."""

from __future__ import annotations

import os
import pty
import select
import threading
import tty
from collections.abc import Iterable
from types import TracebackType
from typing import Self


class PtyInstrument:
    """A simulated instrument. Subclasses implement ``received(bytes)``, which is called with the bytes from the host.
    ``stream`` sends chunks from another thread until there are no more chunks or ``halt`` is called."""

    def __init__(self) -> None:
        self._near, self._far = pty.openpty()
        tty.setraw(self._near)
        tty.setraw(self._far)
        self.port = os.ttyname(self._far)
        os.set_blocking(self._near, False)
        self.sent_all = threading.Event()
        self._closing = threading.Event()
        self._halted = threading.Event()
        self._streamer: threading.Thread | None = None
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self.halt()
        self._listener.join()
        os.close(self._near)
        os.close(self._far)

    def _listen(self) -> None:
        while not self._closing.is_set():
            if select.select([self._near], [], [], 0.05)[0]:
                self.received(os.read(self._near, 4096))

    def received(self, data: bytes) -> None:
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self._closing.is_set():
            if select.select([], [self._near], [], 0.05)[1]:
                view = view[os.write(self._near, view[:4096]) :]

    def stream(self, chunks: Iterable[bytes]) -> None:
        self.halt()
        self._halted.clear()
        self.sent_all.clear()

        def run() -> None:
            for chunk in chunks:
                if self._halted.is_set() or self._closing.is_set():
                    return
                self.send(chunk)
            self.sent_all.set()

        self._streamer = threading.Thread(target=run, daemon=True)
        self._streamer.start()

    def halt(self) -> None:
        self._halted.set()
        if self._streamer is not None:
            self._streamer.join()
            self._streamer = None
