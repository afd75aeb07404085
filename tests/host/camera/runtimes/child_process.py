"""Run a function in a child process, to see whether it crashes."""

from __future__ import annotations

import os
from collections.abc import Callable

from arenite.errors import AreniteError

RAN, REJECTED = 0, 2


def run_in_a_child(action: Callable[[], object]) -> int:
    """Run ``action`` in a child process. Return ``RAN`` if it returns, ``REJECTED`` if it raises an ``AreniteError``,
    or the negative number of the signal if it crashes."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            action()
            status = RAN
        except AreniteError:
            status = REJECTED
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
