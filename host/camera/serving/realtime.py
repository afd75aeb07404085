"""A steadier loop: threads on processors of their own, memory locked, real-time priority, and a warm model.

Each request reports whether the system granted it; none of them stops the loop. Linux; elsewhere all say so.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass

from arenite.host.camera.runtimes.base import Runtime

_CURRENT, _FUTURE, _ON_FAULT = 1, 2, 4  # mlockall
#: Priority for one real-time thread: above others of its kind is never needed, below the kernel's own (50) it must be.
PRIORITY = 20
_NICE = -10


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """``detail``: what was done, or why not and what would help; for people."""

    what: str
    granted: bool
    detail: str


def pin(cpus: Iterable[int], thread: int = 0) -> RequestOutcome:
    """Let a thread run on ``cpus`` only. ``thread``: its native id, 0 for the calling one. Threads that it starts
    later, a runtime's among them, inherit that."""
    wanted = sorted(set(cpus))
    if not hasattr(os, "sched_setaffinity"):
        return RequestOutcome("pin", False, "this system cannot pin threads.")
    try:
        os.sched_setaffinity(thread, wanted)
    except (OSError, ValueError, OverflowError) as error:
        allowed = sorted(os.sched_getaffinity(0))
        return RequestOutcome(
            "pin", False, f"processors {wanted} are not to be had ({_why(error)}); there are {allowed}."
        )
    got = sorted(os.sched_getaffinity(thread))
    if got != wanted:
        return RequestOutcome("pin", False, f"of processors {wanted} only {got} are online for this process.")
    return RequestOutcome("pin", True, f"on processor {', '.join(map(str, got))}.")


def lock_memory() -> RequestOutcome:
    """Keep every page that was or will be touched in RAM. Best after warming up; pages never touched, such as unused
    parts of libraries, are not loaded for it."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "mlockall"):
        return RequestOutcome("lock_memory", False, "this system cannot lock memory.")
    if library.mlockall(_CURRENT | _FUTURE | _ON_FAULT) == 0:
        return RequestOutcome("lock_memory", True, "all memory stays in RAM.")
    return RequestOutcome(
        "lock_memory",
        False,
        f"{os.strerror(ctypes.get_errno())}; the limit is {_memory_limit()}: raise `ulimit -l`.",
    )


def unlock_memory() -> None:
    """The opposite of ``lock_memory``."""
    library = ctypes.CDLL(None)
    if hasattr(library, "munlockall"):
        library.munlockall()


def raise_priority(priority: int = PRIORITY, thread: int = 0) -> RequestOutcome:
    """SCHED_FIFO for a thread; where that is not allowed a better nice value; else nothing. Children do not inherit
    it.

    A thread with real-time priority that never waits starves everything else on its processor.
    """
    if not hasattr(os, "sched_setscheduler"):
        return RequestOutcome("priority", False, "this system has no real-time priorities.")
    try:
        os.sched_setscheduler(thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
        return RequestOutcome("priority", True, f"SCHED_FIFO {priority}.")
    except (OSError, ValueError) as error:
        refused = _why(error)
    advice = f"SCHED_FIFO {priority}: {refused} (limit {_priority_limit()}: raise `ulimit -r`)"
    try:
        os.setpriority(os.PRIO_PROCESS, thread, _NICE)
        return RequestOutcome("priority", True, f"nice {_NICE} instead of {advice}.")
    except OSError as error:
        return RequestOutcome("priority", False, f"{advice}; nice {_NICE}: {_why(error)}.")


def normal_priority(thread: int = 0) -> None:
    """The opposite of ``raise_priority``, as far as the system lets."""
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        if os.getpriority(os.PRIO_PROCESS, thread) < 0:
            os.setpriority(os.PRIO_PROCESS, thread, 0)


def warm_up(runtime: Runtime, count: int = 3) -> list[float]:
    """Run every slot ``count`` times on whatever its inputs hold; ms of each, in that order. The first packs weights
    and touches memory. For models without state between calls. Raises what ``invoke`` raises."""
    taken = []
    for _ in range(count):
        for slot in range(len(runtime.slots)):
            start = time.perf_counter_ns()
            runtime.invoke(slot)
            taken.append((time.perf_counter_ns() - start) / 1e6)
    return taken


def freeze_garbage_collector() -> None:
    """Never look again at the objects that exist: later collections only see the loop's own. What a start leaves to
    collect is not worth the 20 ms that looking at everything takes."""
    gc.freeze()
    gc.enable()


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _priority_limit() -> str:
    import resource

    return _limit(resource.getrlimit(resource.RLIMIT_RTPRIO)[0], "")


def _memory_limit() -> str:
    import resource

    return _limit(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], " bytes")


def _limit(value: int, unit: str) -> str:
    return "none" if value < 0 else f"{value:,}{unit}"
