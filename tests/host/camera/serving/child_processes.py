"""Run parts of a test in a child process, with the rights of an ordinary user."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable


def in_child(work: Callable[[], bool]) -> None:
    """Check that ``work`` returns True. It runs in a child process, because it changes the scheduling, the locked
    memory and the user of its process."""
    child = os.fork()
    if child == 0:
        passed = False
        try:
            passed = work()
        finally:
            os._exit(0 if passed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def as_nobody() -> None:
    """Set the limits for priority and locked memory to 0, and change from root to another user, so that this process
    has the rights of an ordinary user."""
    for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE, resource.RLIMIT_MEMLOCK):
        resource.setrlimit(limit, (0, 0))
    if os.getuid() == 0:
        os.setuid(65534)
