"""Write lines to a file or a pipe. A separate thread writes them about once a second."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from arenite.errors import UsageError
from arenite.printable import printable_lines

#: The maximum number of characters that wait for a slow disk or reader.
_MAX_WAITING = 8 << 20
#: The size of a memory page in bytes. If the process is killed, a write inside one page is complete or missing, but a
#: longer write may be cut at the end of a page. The same is true for writes to a pipe (PIPE_BUF).
_PAGE = 4096


def to_stderr(problem: str) -> None:
    print(printable_lines(problem), file=sys.stderr, flush=True)


class LineWriter:
    """Writes lines in the background. ``write`` does not wait for the file: lines that do not fit in the buffer are
    dropped and counted. If ``lossless`` is True, ``write`` waits while the buffer is full, and no line is lost.

    If the process is killed, the file still has only complete lines, because a line of up to half a page never crosses
    the end of a page of the file. If it would, spaces are added to the end of the previous line, which JSON allows.

    If writing fails (the disk is full, or the pipe was closed), this is reported once and stored in ``failure``.
    Further lines are ignored.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        lossless: bool = False,
        interval_s: float = 1.0,
        limit: int = _MAX_WAITING,
        report: Callable[[str], None] = to_stderr,
    ) -> None:
        """Create or overwrite the file ``path``; ``-`` means standard output. ``limit`` is the maximum number of
        characters in the buffer. Raises ``UsageError`` if the file cannot be written."""
        self.name = "standard output" if str(path) == "-" else str(path)
        try:
            if str(path) == "-":
                sys.stdout.flush()
                self._file = os.dup(sys.stdout.fileno())
            else:
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(
                f"Cannot write {self.name}: {error.strerror}.", "Give a file in an existing folder, or -."
            ) from error
        self._longest = 0  # bytes of the longest line so far
        self._pads = stat.S_ISREG(
            os.fstat(self._file).st_mode
        )  # whether spaces are added: only to regular files
        self._at = os.lseek(self._file, 0, os.SEEK_END) if self._pads else 0  # the position in the file
        self.failure: str | None = None
        self.lost = 0  # the number of dropped lines
        self._lossless, self._interval, self._limit, self._report = lossless, interval_s, limit, report
        self._lines: list[str] = []
        self._waiting = 0  # characters in ``_lines``
        self._state = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="arenite-writer", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Queue ``text``, which must consist of complete lines."""
        with self._state:
            if self.failure is not None or self._ending:
                return
            if self._waiting > self._limit:
                self._state.notify_all()
                if not self._lossless:
                    self.lost += text.count("\n")
                    return
                self._state.wait_for(lambda: self._waiting <= self._limit or self.failure is not None)
            self._lines.append(text)
            self._waiting += len(text)

    def close(self) -> None:
        """Write the waiting lines and close the file. Calling it again does nothing."""
        with self._state:
            if self._ending:
                return
            self._ending = True
            self._state.notify_all()
        self._thread.join()
        os.close(self._file)
        if self.lost and self.failure is None:
            self._report(f"{self.name} was too slow: {self.lost:,} lines were left out.")

    def _run(self) -> None:
        while True:
            with self._state:
                if not self._ending:
                    self._state.wait(self._interval)
                lines, self._lines = self._lines, []
                self._waiting, ending = 0, self._ending
                self._state.notify_all()
            try:
                self._put(lines)
            except OSError as error:
                self._fail(f"Cannot write {self.name} any more: {error.strerror}.", error)
                return
            if ending:
                return

    def _put(self, texts: list[str]) -> None:
        # Names of files in a line may contain characters that UTF-8 cannot encode.
        lines = "".join(texts).encode("utf-8", "replace").splitlines(keepends=True)
        if not lines:
            return
        self._longest = max(self._longest, *map(len, lines))
        page: list[bytes] = []
        room = _PAGE - self._at % _PAGE
        for line in lines:
            if len(line) > room:
                self._page(page, room)
                page = []
                room = _PAGE - self._at % _PAGE
            page.append(line)
            room -= len(line)
        # Assume that the next lines are about as long as the longest line. Fill the page if they would not fit.
        self._page(page, room if room < min(self._longest * 3 // 2, _PAGE // 2) else 0)

    def _page(self, lines: list[bytes], spaces: int) -> None:
        """Write lines. For a regular file, add ``spaces`` spaces to the last line."""
        if lines and self._pads and spaces > 0:
            lines[-1] = lines[-1][:-1] + b" " * spaces + b"\n"
        self._out(b"".join(lines))

    def _out(self, data: bytes) -> None:
        while data:
            count = os.write(self._file, data)
            data = data[count:]
            if self._pads:
                self._at += count

    def _fail(self, problem: str, error: OSError) -> None:
        with self._state:
            self.failure = problem
            self._lines = []
            self._state.notify_all()
        # A reader that closed the pipe early, such as head, is not an error.
        if not isinstance(error, BrokenPipeError):
            with contextlib.suppress(Exception):
                self._report(problem)
