"""Start programs and create folders that do not outlive this process, however it ends.

A process that gets SIGKILL, or SIGTERM without a handler, cannot clean up. A small shell process, the guard, cleans up
instead. It reads from a pipe that closes when this process ends, then kills the registered programs and removes the
registered folders. Each program writes its process ID to the pipe before it starts, so it never runs unregistered. It
also has its own session, so that the programs that it starts are killed with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NEWLINE = "\n"

#: The shell script of the guard. It reads one command per line: "+PID" registers the session of a process and "-PID"
#: removes it from the list; "D PATH" registers a folder and "F PATH" removes it from the list.
_GUARD = r"""
trap '' INT TERM HUP QUIT PIPE
IFS='
'
set -f
pids= folders=
without() {
    kept=
    for item in $1; do [ "$item" = "$2" ] || kept="$kept$item
"; done
}
while read -r line; do
    case $line in
    +*) pids="$pids${line#+}
" ;;
    -*) without "$pids" "${line#-}"; pids=$kept ;;
    "D "*) folders="$folders${line#D }
" ;;
    "F "*) without "$folders" "${line#F }"; folders=$kept ;;
    esac
done
for pid in $pids; do kill -9 "-$pid"; kill -9 "$pid"; done
[ -n "$folders" ] || exit 0
for attempt in 1 2 3 4 5; do
    left=
    for folder in $folders; do
        rm -rf -- "$folder"
        [ -e "$folder" ] && left=yes
    done
    [ -n "$left" ] || exit 0
    sleep 0.2
done
"""

_lock = threading.Lock()
#: The ID of the process that the guard watches, and the file descriptor with which that process writes to the guard.
_pipe: tuple[int, int] | None = None


class Child(subprocess.Popen[Any]):
    """A ``Popen`` whose process ends with this process, and so do the programs that it started. ``kill`` kills its
    complete session.

    ``limits`` maps a resource of the module ``resource``, for example ``resource.RLIMIT_DATA``, to its limit.

    Normally the system copies the page tables of this process, which stops all its threads for some milliseconds.
    With ``quick_start`` it does not. Then the process may outlive this process if that is killed in the moment of the
    start, and it cannot have limits.

    Windows has neither sessions nor the guard: there, the process has no limits, and only ``kill`` and the end of its
    standard input end it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        limits: Mapping[int, int] | None = None,
        quick_start: bool = False,
        **options: Any,
    ) -> None:
        self._registered = False
        if sys.platform == "win32":
            super().__init__(list(command), **options)
            return
        pipe = _guard_pipe()
        if quick_start:
            super().__init__(list(command), start_new_session=True, **options)
            self._registered = True
            os.write(pipe, b"+%d\n" % self.pid)
            return

        def prepare() -> None:  # runs in the new process, before it starts the program
            os.write(pipe, b"+%d\n" % os.getpid())
            if limits:
                _set_limits(limits)

        super().__init__(list(command), start_new_session=True, preexec_fn=prepare, **options)
        self._registered = True

    def kill(self) -> None:
        if sys.platform != "win32" and self.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        super().kill()

    def stop(self, seconds: float) -> None:
        """Ask the program to end, and kill it if it still runs after this number of seconds."""
        self.terminate()
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()

    def poll(self) -> int | None:
        return self._forget(super().poll())

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        self._forget(code)
        return code

    def _forget(self, code: int | None) -> int | None:
        """Return ``code``. If it is an exit status, so that the process has ended, first kill the rest of its
        session and remove it from the guard's list."""
        if sys.platform != "win32" and code is not None and self._registered:
            self._registered = False
            # Programs that the process left running are in its session. While one of them runs, the system does not
            # give the number of the session to another process.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            _write_to_guard(f"-{self.pid}\n")
        return code


def run(
    command: Sequence[str],
    *,
    input: Any = None,
    timeout: float | None = None,
    check: bool = False,
    capture_output: bool = False,
    limits: Mapping[int, int] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run ``command`` as a ``Child``. The result and the errors are the same as with ``subprocess.run``."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Child(command, limits=limits, **options) as process:
        try:
            stdout, stderr = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command), stdout, stderr)
    return subprocess.CompletedProcess(list(command), process.returncode, stdout, stderr)


@contextmanager
def temporary_folder(prefix: str = "arenite-") -> Iterator[Path]:
    """Create a folder that is removed when the block ends, or when this process ends in any other way."""
    base = Path(tempfile.gettempdir()).absolute()
    if sys.platform == "win32" or _NEWLINE in str(base):  # the guard reads one folder per line
        with tempfile.TemporaryDirectory(prefix=prefix) as name:
            yield Path(name)
        return
    _guard_pipe()
    while True:
        folder = base / f"{prefix}{os.urandom(6).hex()}"
        _write_to_guard(f"D {folder}\n")
        try:
            folder.mkdir(0o700)
            break
        except FileExistsError:
            _write_to_guard(f"F {folder}\n")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _write_to_guard(f"F {folder}\n")


def _set_limits(limits: Mapping[int, int]) -> None:
    if sys.platform == "win32":
        return
    import resource

    for limit, value in limits.items():
        _, hard = resource.getrlimit(limit)
        new = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (new, new))


def _guard_pipe() -> int:
    """Return the file descriptor with which this process writes to the guard. The guard is started when it is first
    needed, and again after a fork, because a guard watches only one process."""
    global _pipe
    with _lock:
        if _pipe is None or _pipe[0] != os.getpid():
            reading, writing = os.pipe()
            try:
                guard = subprocess.Popen(
                    ["/bin/sh", "-c", _GUARD],
                    stdin=reading,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                )
                guard.returncode = 0  # the guard outlives this process, so ``Popen`` must not wait for it
            finally:
                os.close(reading)
            _pipe = (os.getpid(), writing)
        return _pipe[1]


def _write_to_guard(line: str) -> None:
    """Write ``line``, a command of ``_GUARD``, to the guard."""
    with contextlib.suppress(OSError):  # the guard was killed
        os.write(_guard_pipe(), os.fsencode(line))
