"""Run ``arenite serve`` as a process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT_S = 300.0


@contextmanager
def served(path: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Serve the model with a context of 256 tokens and one thread, yield the process and its port, and check that
    SIGTERM ends it without an error."""
    fixed = ("--port", "0", "--context", "256", "--threads", "1")
    with subprocess.Popen(
        [sys.executable, "-m", "arenite", "serve", str(path), *fixed, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/v1\n", process.stdout.readline())
            assert found, process.stderr.read()
            yield process, int(found[1])
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
