"""A device's C code on a pseudo-terminal whose cable can be pulled, with the speed of a real line."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import tty
from pathlib import Path

from tests.firmware.update.update_board import BAUD, Board

_STEP_S, _ANSWER_S = 0.002, 60.0


class BoardPort:
    """The port is the symbolic link ``path``, as those in /dev/serial/by-id are. Use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.board = Board()
        self.path = folder / "port"
        self.answers = True  # False: the device is silent
        self.received_bytes = 0
        self._held: bytes | None = None  # answers that the line delays
        self._lock = threading.Lock()
        self._fds: tuple[int, int] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def connect(self) -> None:
        master, slave = os.openpty()
        for fd in (master, slave):
            tty.setraw(fd)
        os.set_blocking(master, False)
        with self._lock:
            self._fds = master, slave
        self.path.symlink_to(os.ttyname(slave))

    def pull(self) -> None:
        """Pull the cable. What was on its way is lost."""
        with self._lock:
            assert self._fds is not None
            fds, self._fds = self._fds, None
            self.path.unlink()
            self.board.pull()
        for fd in fds:
            os.close(fd)

    def delay_answers(self) -> None:
        """Keep what the device sends until ``deliver_answers``."""
        with self._lock:
            self._held = b""

    def deliver_answers(self) -> None:
        """Send the answers that were kept, of which there must be one: on a busy computer the device may be late
        itself."""
        end = time.monotonic() + _ANSWER_S
        while True:
            with self._lock:
                assert self._fds is not None and self._held is not None
                if self._held:
                    os.write(self._fds[0], self._held)
                    self._held = None
                    return
            assert time.monotonic() < end, "the device has not answered"
            time.sleep(_STEP_S)

    def slot(self, pair: int, slot: int) -> bytes:
        with self._lock:
            return self.board.slot(pair, slot)

    def __enter__(self) -> BoardPort:
        self.connect()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._fds is not None:
            self.pull()
        self.board.close()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(_STEP_S):
            now = time.monotonic()
            ticks, last = round((now - last) * BAUD / 10), now
            with self._lock:
                self._step(min(ticks, BAUD // 100))

    def _step(self, ticks: int) -> None:
        if self._fds is None:
            return
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._fds[0], 512)
        self.received_bytes += len(data)
        self.board.send(data)
        begin = self.board.seconds
        while (rest := ticks - round((self.board.seconds - begin) * BAUD / 10)) > 0:
            sent = self.board.receive(rest)
            if self._held is not None:
                self._held += sent
            elif sent and self.answers:
                os.write(self._fds[0], sent)
