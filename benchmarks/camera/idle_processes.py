"""Keep every processor awake with processes that run only while nothing else does (SCHED_IDLE)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_BUSY = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"


class IdleProcesses:
    """A context manager of one endless loop per processor. The loops stand still until ``run(True)``."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._running = True

    def __enter__(self) -> IdleProcesses:
        for processor in sorted(os.sched_getaffinity(0)):
            process = subprocess.Popen([sys.executable, "-c", _BUSY])
            self._processes.append(process)
            os.sched_setaffinity(process.pid, {processor})
        self.run(False)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def run(self, running: bool) -> None:
        """Let the loops run or stand still."""
        if running != self._running:
            for process in self._processes:
                process.send_signal(signal.SIGCONT if running else signal.SIGSTOP)
        self._running = running

    def cpu_ns(self) -> int:
        """Return the processor time of all loops in nanoseconds."""
        files = [Path(f"/proc/{process.pid}/schedstat") for process in self._processes]
        return sum(int(file.read_text().split()[0]) for file in files)
