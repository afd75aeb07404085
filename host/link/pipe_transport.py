"""The pipes of a program as a byte transport: an emulator that has no serial port."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import Any

from arenite.host.link.transport import PortGoneError


class PipeTransport:
    """Standard input and output of ``process`` as a transport. ``port`` is the name for messages. It works on every
    operating system."""

    def __init__(self, process: subprocess.Popen[Any], port: str) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.port = port
        self._process = process
        self._input, self._output = process.stdin, process.stdout
        self._received = bytearray()
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        """Collect what the program writes until it ends."""
        while True:
            try:
                data = os.read(self._output.fileno(), 65536)
            except (OSError, ValueError):  # ValueError: the pipe was closed
                data = b""
            with self._changed:
                self._received += data
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return

    def read(self, timeout_s: float) -> bytes:
        """See :class:`Transport`. Raises PortGoneError if the program has ended and all its bytes were read."""
        with self._changed:
            self._changed.wait_for(lambda: self._received or self._ended, timeout_s)
            data = bytes(self._received)
            self._received.clear()
            if not data and self._ended:
                raise self._gone()
            return data

    def write(self, data: bytes) -> None:
        """See :class:`Transport`. Raises PortGoneError if the program has ended."""
        try:
            self._input.write(data)
            self._input.flush()
        except (OSError, ValueError) as error:
            raise self._gone() from error

    def discard_input(self) -> None:
        """See :class:`Transport`."""
        with self._changed:
            self._received.clear()

    def close(self) -> None:
        """Close the program's input, which tells it to end. A second call does nothing."""
        with contextlib.suppress(OSError):
            self._input.close()

    def _gone(self) -> PortGoneError:
        return PortGoneError(f"The program of {self.port} has ended.", "Start the command again.")
