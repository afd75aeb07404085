"""Run a command of Arenite in a process without the modules and functions that Python lacks on Windows.

    python -m tests.arenite.windows_process import      # import every module
    python -m tests.arenite.windows_process fit MODEL   # a command of Arenite

The process takes the branches of the code for Windows. The packages that Arenite needs are imported before, as they are
on this system, so this shows only what Arenite's own code does.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ctypes
import importlib
import multiprocessing
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from typing import Any

#: Modules, and names of ``os`` and ``signal``, that exist on Linux and macOS only.
_MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
_OS_NAMES = (
    "chown fchmod fchown fork forkpty geteuid getgid getpgid getpriority getuid kill killpg major minor mkfifo nice "
    "openpty posix_spawn sched_getaffinity sched_setaffinity sched_setscheduler setpriority setsid sysconf uname wait4 "
    "O_CLOEXEC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_DIRECTORY"
)
_SIGNALS = "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH"
#: Folders of programs that run in environments of their own, and the C library that ctypes loads.
_NO_MODULES = ("importers.subprocesses", "training.subprocesses", "unicorn_program", "processing.c._native")


def imitate_windows() -> None:
    """Take from this process what Windows lacks."""
    assert asyncio and concurrent.futures and multiprocessing and shutil and subprocess and tempfile
    for name in (
        "ai_edge_litert.interpreter",
        "click",
        "elftools",
        "flatbuffers",
        "numpy",
        "rich.console",
        "serial",
    ):
        importlib.import_module(name)
    for name in ("rich.live", "rich.progress", "serial.tools.list_ports", "PIL.Image", "h11", "ctypes.util"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    open_library = ctypes.CDLL.__init__

    def open_named_library(self: ctypes.CDLL, name: str | None, *args: Any, **options: Any) -> None:
        if name is None:
            raise TypeError("argument of type 'NoneType' is not iterable")
        open_library(self, None if name == "msvcrt" else name, *args, **options)

    ctypes.CDLL.__init__ = open_named_library  # type: ignore[method-assign]
    for name in _MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # makes an import fail
    locking = types.ModuleType("msvcrt")
    vars(locking).update(LK_NBLCK=2, locking=lambda handle, mode, nbytes: None)
    sys.modules["msvcrt"] = locking
    for module, names in ((os, _OS_NAMES), (signal, _SIGNALS)):
        for name in names.split():
            vars(module).pop(name, None)
    sys.platform = "win32"


def import_all() -> int:
    """Import every module of Arenite, and print the errors and the number of imported modules. Return the number of
    errors."""
    errors = []
    count = 0
    package = importlib.import_module("arenite")
    for module in pkgutil.walk_packages(package.__path__, "arenite.", onerror=lambda name: None):
        if any(part in module.name for part in _NO_MODULES):
            continue
        try:
            importlib.import_module(module.name)
            count += 1
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] in (*_MODULES, "arenite"):
                errors.append(f"{module.name}: {error}")  # other packages are optional
        except Exception as error:
            errors.append(f"{module.name}: {type(error).__name__}: {error}")
    print(*errors, f"{count} modules", sep="\n")
    return len(errors)


if __name__ == "__main__":
    imitate_windows()
    if sys.argv[1:] == ["import"]:
        sys.exit(min(1, import_all()))
    from arenite.host.cli.main import main

    sys.exit(main(sys.argv[1:]))
