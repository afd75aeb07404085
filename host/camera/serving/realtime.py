"""Reduce the jitter of the loop: pin threads to processors, lock memory, raise the priority, and warm up the model.

Each function requests a setting from the system and returns whether the system granted it. A refused request does not
stop the loop. Only Linux supports these requests.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass

from arenite.c_library import c_library
from arenite.host.camera.runtimes.base import Runtime

_CURRENT, _FUTURE, _ON_FAULT = 1, 2, 4  # the flags of mlockall
#: The priority of a real-time thread. It must be below the priority of the kernel's own threads (50).
PRIORITY = 20
_NICE = -10


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The outcome of a request. ``what`` names the setting. ``detail`` is a text for display: what was done, or why the
    request was refused and what to try."""

    what: str
    granted: bool
    detail: str


def pin(cpus: Iterable[int], thread: int = 0) -> RequestOutcome:
    """Let a thread run only on the processors with the numbers ``cpus``. ``thread`` is its native id, 0 for the calling
    thread. Threads that it starts later, such as the threads of a runtime, inherit this setting."""
    requested = sorted(set(cpus))
    if not hasattr(os, "sched_setaffinity"):
        return RequestOutcome("pin", False, "This system cannot pin threads.")
    try:
        os.sched_setaffinity(thread, requested)
    except (OSError, ValueError, OverflowError) as error:
        allowed = sorted(os.sched_getaffinity(0))
        return RequestOutcome(
            "pin",
            False,
            f"Processors {requested} are not available ({_reason(error)}); available are {allowed}.",
        )
    usable = sorted(os.sched_getaffinity(thread))
    if usable != requested:
        return RequestOutcome(
            "pin", False, f"Only {usable} of processors {requested} are online for this process."
        )
    return RequestOutcome("pin", True, f"The thread runs on processor {', '.join(map(str, usable))}.")


def lock_memory() -> RequestOutcome:
    """Keep every page of memory in RAM once the process has used it. Call this after warming up. Pages that are never
    used, such as parts of libraries, are not loaded."""
    library = c_library()
    if not hasattr(library, "mlockall"):
        return RequestOutcome("lock_memory", False, "This system cannot lock memory.")
    if library.mlockall(_CURRENT | _FUTURE | _ON_FAULT) == 0:
        return RequestOutcome("lock_memory", True, "All memory stays in RAM.")
    return RequestOutcome(
        "lock_memory",
        False,
        f"{os.strerror(ctypes.get_errno())}; the limit is {_memory_limit()}. Raise it with `ulimit -l`.",
    )


def unlock_memory() -> None:
    """Undo ``lock_memory``."""
    library = c_library()
    if hasattr(library, "munlockall"):
        library.munlockall()


def raise_priority(priority: int = PRIORITY, thread: int = 0) -> RequestOutcome:
    """Give a thread the scheduling class SCHED_FIFO, or a better nice value if SCHED_FIFO is not allowed. Processes and
    threads that the thread starts do not inherit SCHED_FIFO. ``thread`` is its native id, 0 for the calling thread.

    A thread with real-time priority that never waits blocks all other threads on its processor.
    """
    if not hasattr(os, "sched_setscheduler"):
        return RequestOutcome("priority", False, "This system has no real-time priorities.")
    try:
        os.sched_setscheduler(thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
        return RequestOutcome("priority", True, f"SCHED_FIFO {priority}.")
    except (OSError, ValueError) as error:
        reason = _reason(error)
    advice = f"SCHED_FIFO {priority}: {reason} (the limit is {_priority_limit()}; raise it with `ulimit -r`)"
    try:
        os.setpriority(os.PRIO_PROCESS, thread, _NICE)
        return RequestOutcome("priority", True, f"nice {_NICE} instead of {advice}.")
    except OSError as error:
        return RequestOutcome("priority", False, f"{advice}; nice {_NICE}: {_reason(error)}.")


def normal_priority(thread: int = 0) -> None:
    """Undo ``raise_priority``, as far as the system allows it."""
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        if os.getpriority(os.PRIO_PROCESS, thread) < 0:
            os.setpriority(os.PRIO_PROCESS, thread, 0)


def warm_up(runtime: Runtime, count: int = 3) -> list[float]:
    """Run every slot ``count`` times on its present inputs, and return the milliseconds of each run. The first run
    packs weights and maps memory. Call this only for models without state between calls. Raises the errors of
    ``invoke``."""
    times_ms = []
    for _ in range(count):
        for slot in range(len(runtime.slots)):
            start = time.perf_counter_ns()
            runtime.invoke(slot)
            times_ms.append((time.perf_counter_ns() - start) / 1e6)
    return times_ms


def freeze_garbage_collector() -> None:
    """Exclude all objects that exist now from later garbage collections, so that a collection handles only objects that
    the loop creates. A full collection takes 20 ms, and it frees little after the start."""
    gc.freeze()
    gc.enable()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _priority_limit() -> str:
    import resource

    return _limit_text(resource.getrlimit(resource.RLIMIT_RTPRIO)[0], "")


def _memory_limit() -> str:
    import resource

    return _limit_text(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], " bytes")


def _limit_text(value: int, unit: str) -> str:
    return "none" if value < 0 else f"{value:,}{unit}"
