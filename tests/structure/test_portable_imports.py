"""Importing `arenite`, and the code of `fit` and `bench`, needs no module and no function that only POSIX systems
have."""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    "arenite",
    "arenite.host.cli.main",
    "arenite.host.cli.firmware.fit",
    "arenite.host.cli.firmware.firmware",
    "arenite.host.cli.firmware.build",
    "arenite.host.cli.bench.bench",
    "arenite.host.emulator.unicorn_machine",
)
#: Libraries that choose their own code for the system. They, and ``arenite.locks``, which does the same, are imported
#: before the modules and functions of POSIX are removed.
_CHOOSE_BY_SYSTEM = (
    "subprocess, serial, multiprocessing, tempfile, asyncio, ai_edge_litert.interpreter, numpy"
)
_PROGRAM = f"""
import importlib, os, signal, sys
import {_CHOOSE_BY_SYSTEM}
import arenite.locks
for name in ("fcntl", "termios", "pty", "tty", "resource", "grp", "pwd"):
    sys.modules[name] = None
for name in ("fork", "killpg", "setsid", "getuid", "geteuid", "openpty", "uname", "mkfifo", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGPIPE"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_fit_and_bench_import_no_module_of_posix() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *MODULES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
